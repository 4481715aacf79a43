// The names of a new operation's folder, files and exports, from the name of the operation.

/** The name is none that an operation can have. */
export class NameError extends Error {
  override name = 'NameError'
}

export interface OperationNames {
  /** `payment.release` */
  readonly operation: string
  /** `release` */
  readonly verb: string
  /** `release-payment` */
  readonly folder: string
  /** `releasePayment` */
  readonly camel: string
  /** `ReleasePayment` */
  readonly pascal: string
}

/** @throws NameError for a name that is not `payment.<verb>`. */
export function namesOf(operation: string): OperationNames {
  const verb = /^payment\.([a-z]+)$/.exec(operation)?.[1]
  if (verb === undefined) {
    throw new NameError(`"${operation}" is not payment.<verb>, with a verb of lower-case letters`)
  }
  const pascal = `${verb.charAt(0).toUpperCase()}${verb.slice(1)}Payment`
  return { operation, verb, folder: `${verb}-payment`, camel: `${verb}Payment`, pascal }
}
