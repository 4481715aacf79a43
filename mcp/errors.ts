// The error of the settings or the command line.

/** The settings or the arguments are wrong: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}
