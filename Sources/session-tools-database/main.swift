import Glibc
import SessionToolsCommand

System.occupyStandardDescriptors()
System.forbidCoreDumps()
System.ignoreSignalsOfWriting()
exit(Program<RootCommand>.run(Array(System.arguments.dropFirst())).rawValue)
