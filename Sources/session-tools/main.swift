import Glibc
import SessionToolsCommand

System.occupyStandardDescriptors()
System.forbidCoreDumps()
System.ignoreSignalsOfWriting()
exit(Program<RootCommand>.run(ProgramName.arguments(of: System.arguments)).rawValue)
