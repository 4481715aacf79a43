// The points of a run: the moments between two messages at which a fault can be injected. A label
// names a point by role, statement, message and ordinal. The position in the run would not do,
// because the order of concurrent messages differs from run to run.

/** A process under test. */
export type Role = 'api' | 'worker'

export interface Place {
  readonly role: Role
  /** The name of the statement, of the provider's endpoint or of the command to Redis. */
  readonly name: string
  /** The protocol message; for the provider `request`, `reply` or `body`, for Redis `command` or `reply`. */
  readonly message: string
  /** Before the message is passed on, after that, or half-way through it. */
  readonly moment: 'before' | 'after' | 'middle'
  readonly peer: 'store' | 'provider' | 'redis'
  /** Whether the process sends or receives the message. */
  readonly direction: 'out' | 'in'
}

export interface Point extends Place {
  readonly label: string
}

/**
 * Statements that a timer repeats. How often depends on the machine; only the first one is certain.
 */
const TIMED_STATEMENTS = ['look-up']

/** Statements of pg-boss. Timing decides which of its connections prepared them before. */
const JOB_STATEMENTS = /^(fetch|complete-job|fail-job)/
const PREPARATION_MESSAGES: readonly string[] = [
  'Parse',
  'Describe',
  'Flush',
  'ParseComplete',
  'ParameterDescription',
  'RowDescription',
  'NoData',
]

/** Whether timing alone decides that a run reaches the point. */
export function isNondeterministic({ name, message, label }: Point): boolean {
  if (TIMED_STATEMENTS.includes(name)) return isRepeated(label)
  return JOB_STATEMENTS.test(name) && PREPARATION_MESSAGES.includes(message)
}

/** Whether the point is reached only by the first execution of a statement on a connection. */
export function isPreparation(label: string): boolean {
  const [, , message = ''] = label.split('/')
  return PREPARATION_MESSAGES.includes(message.split('#')[0] ?? '')
}

/** Whether a process of that role reaches the point. */
export function belongsToRole(label: string, role: Role): boolean {
  return label.startsWith(`${role}/`)
}

/** Whether the same message of the same statement came before. */
export function isRepeated(label: string): boolean {
  return !label.includes('#1/')
}

/** Thousands of runs reach the same points, so each point is one shared object. */
const points = new Map<string, Point>()

/** Numbers the places of one run, so that each gets a unique label. */
export class PointCounter {
  readonly #counts = new Map<string, number>()

  count(place: Place): Point {
    const { role, name, message, moment } = place
    const kind = `${role}/${name}/${message}`
    // A message has the same ordinal at each moment.
    const counted = `${kind}/${moment}`
    const ordinal = (this.#counts.get(counted) ?? 0) + 1
    this.#counts.set(counted, ordinal)
    const label = `${kind}#${ordinal}/${moment}`
    const point = points.get(label) ?? { ...place, label }
    points.set(label, point)
    return point
  }
}
