// The errors that a command ends with, beside those of the client.

/** The command line or the settings are wrong: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** Nothing has the id or the key of the command line: exit code 1. */
export class NotFoundError extends Error {
  override name = 'NotFoundError'
}
