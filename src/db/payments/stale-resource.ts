// The error of a change that comes too late.

/** A resource has left the status that it was read with: another process changed it. */
export class StaleResourceError extends Error {
  override name = 'StaleResourceError'

  constructor(resource: string, status: string) {
    super(`${resource} is not ${status} any more`)
  }
}
