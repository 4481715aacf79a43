// The refusal of a request that says when it was first sent.

/** A request that says when it was first sent may be a retry of one whose key was deleted. */
export class FirstSentRefusedError extends Error {
  override name = 'FirstSentRefusedError'
}
