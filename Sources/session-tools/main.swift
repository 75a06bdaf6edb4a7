import Glibc

System.occupyStandardDescriptors()
System.forbidCoreDumps()
System.ignoreSignalsOfWriting()
exit(Program.run(ProgramName.arguments(of: CommandLine.arguments)).rawValue)
