// The names of a new operation's folder, files and exports, from the name of the operation.
import { eventTypes } from '../../src/domain/events/event-types.ts'

/** The name is none that an operation can have. */
export class NameError extends Error {
  override name = 'NameError'
}

export interface OperationNames {
  /** `payment.release` */
  readonly operation: string
  /** `release`, or `send-receipt` */
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
  const verb = /^payment\.([a-z]+(?:-[a-z]+)*)$/.exec(operation)?.[1]
  if (verb === undefined) {
    throw new NameError(
      `"${operation}" is not payment.<verb>, with a verb of lower-case letters and single hyphens`,
    )
  }
  const words = [...verb.split('-'), 'payment']
  const pascal = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join('')
  const camel = `${pascal.charAt(0).toLowerCase()}${pascal.slice(1)}`
  return { operation, verb, folder: `${verb}-payment`, camel, pascal }
}

/** @throws NameError for an event that exists, or is not `payment.<what happened>`. */
export function newEvent(type: string): string {
  if (!/^payment\.[a-z]+(?:_[a-z]+)*$/.test(type)) {
    throw new NameError(
      `"${type}" is not payment.<event>, of lower-case letters and single underscores`,
    )
  }
  if (eventTypes.includes(type)) throw new NameError(`the event ${type} is there already`)
  return type
}
