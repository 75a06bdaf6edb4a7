import Glibc

System.occupyStandardDescriptors()
System.forbidCoreDumps()
System.ignoreSignalsOfWriting()
exit(Program.run(Array(CommandLine.arguments.dropFirst())).rawValue)
