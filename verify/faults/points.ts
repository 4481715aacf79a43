// The points of a run: the moments between two steps of the system at which something terrible can happen.
// A point is known by a label, not by a number, because the order of concurrent messages differs from run to
// run: who sends or gets which message of which statement, and the how manieth of its kind that is.

/** A process under test. */
export type Role = 'api' | 'worker'

export interface Place {
  readonly role: Role
  /** The statement or the provider's endpoint. */
  readonly name: string
  /** Of the protocol; for the provider, `request`, `reply` or `body`. */
  readonly message: string
  /** Before it is passed on, after that, or half-way through it. */
  readonly moment: 'before' | 'after' | 'middle'
  readonly of: 'store' | 'provider'
  /** Whether the process sends it or gets it. */
  readonly way: 'out' | 'in'
}

export interface Point extends Place {
  readonly label: string
}

/** The statements that are also made on a timer: how often depends on the machine, but once for sure. */
const TIMED = ['look-up']

/** The statements of pg-boss: which of its connections has prepared them before, chance decides. */
const OF_JOBS = /^(fetch|complete-job|fail-job)/
const PREPARING: readonly string[] = [
  'Parse',
  'Describe',
  'Flush',
  'ParseComplete',
  'ParameterDescription',
  'RowDescription',
  'NoData',
]

/** Whether a run may come to the point or not, although nothing is different. */
export function isByChance({ name, message, label }: Point): boolean {
  if (TIMED.includes(name)) return isRepeated(label)
  return OF_JOBS.test(name) && PREPARING.includes(message)
}

/** Whether a run comes to the point only when it is the first on its connection to say the statement. */
export function isPreparation(label: string): boolean {
  const [, , message = ''] = label.split('/')
  return PREPARING.includes(message.split('#')[0] ?? '')
}

/** Whether the process of that role comes to the point. */
export function isOfRole(label: string, role: Role): boolean {
  return label.startsWith(`${role}/`)
}

/** Whether the same message of the same statement came before. */
export function isRepeated(label: string): boolean {
  return !label.includes('#1/')
}

/** Runs come to the same points again and again: what is kept of thousands of them is one object for each. */
const points = new Map<string, Point>()

/** Counts the places of one run, so that each has a label of its own. */
export class PointCounter {
  readonly #counts = new Map<string, number>()

  count(place: Place): Point {
    const { role, name, message, moment } = place
    const kind = `${role}/${name}/${message}`
    // A message has one number, whatever the moment.
    const counted = `${kind}/${moment}`
    const ordinal = (this.#counts.get(counted) ?? 0) + 1
    this.#counts.set(counted, ordinal)
    const label = `${kind}#${ordinal}/${moment}`
    const point = points.get(label) ?? { ...place, label }
    points.set(label, point)
    return point
  }
}
