// Why the stack did not start, where a person can mend it: the message says how, a stack trace
// would only hide it.

export class StartError extends Error {
  override name = 'StartError'
}
