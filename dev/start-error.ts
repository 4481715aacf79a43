// An error that the user can fix. Its message says what to do, so it is printed without a stack
// trace.

export class StartError extends Error {
  override name = 'StartError'
}
