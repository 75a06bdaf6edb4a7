import Glibc

System.occupyStandardDescriptors()
System.forbidCoreDumps()
System.ignoreBrokenPipes()
exit(Program.run(Array(CommandLine.arguments.dropFirst())).rawValue)
