// The points of a run: the moments between two messages at which a fault can be injected. A label
// names a point by role, statement, message and ordinal. The position in the run would not do,
// because the order of concurrent messages differs from run to run. Statements are named by their
// text; one that an idle process sends as well belongs to no operation and gets no name.

/** A process under test. */
export type Role = 'api' | 'worker'

export interface Place {
  readonly role: Role
  /** The name of the statement, of the provider's endpoint or of what an extra's server is sent. */
  readonly name: string
  /** The protocol message; for the provider `request`, `reply` or `body`. */
  readonly message: string
  /** Before the message is passed on, after that, or half-way through it. */
  readonly moment: 'before' | 'after' | 'middle'
  readonly peer: 'store' | 'provider' | 'extra'
  /** Whether the process sends or receives the message. */
  readonly direction: 'out' | 'in'
}

export interface Point extends Place {
  readonly label: string
}

/**
 * Statements that a timer repeats. How often depends on the machine; only the first one is certain.
 */
const TIMED_STATEMENTS = ['lookup']

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

export function isAtExtra({ peer }: Place): boolean {
  return peer === 'extra'
}

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
const shared = new Map<string, Point>()

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
    const point = shared.get(label) ?? { ...place, label }
    shared.set(label, point)
    return point
  }
}

export const COMMIT = 'commit'
export const ADD_JOBS = 'add-jobs'

/** Of waiting requests. How many there are depends on the time. */
const LOOK_UP = 'lookup'

/**
 * The name of the commit of a transaction, whose first statement of an operation has this name. That of a
 * lookup has none.
 */
export function commitOf(first: string | undefined): string | undefined {
  if (first === LOOK_UP) return undefined
  return first === undefined ? COMMIT : `${COMMIT}-${first}`
}

function isCommit(name: string): boolean {
  return name === COMMIT || name.startsWith(`${COMMIT}-`)
}

/** Polls, maintenance, and internal statements of the driver and of pg-boss. */
const BACKGROUND: readonly RegExp[] = [
  /^(un)?listen\b/,
  /^(begin|rollback)\b/,
  // It leaves with the first statement, also of the lookups, whose number depends on the time.
  /^set local atomic\.tenants\b/,
  /pg_catalog\.pg_type/,
  /pg_listening_channels/,
  // The sweeper's queries on jobs, and pg-boss's on its partitions.
  /\bdata ->> 'tenantid'/,
  /^select id from "?atomic_jobs"?\.job where name = .* and id = any/,
  /pg_inherits/,
  /atomic_jobs\.(queue|version|schedule|subscription|warning|bam)\b/,
  /pg_advisory_xact_lock/,
  // A new session gets its settings, and a new process checks the database.
  /^select pg_backend_pid\(\) as pid/,
  /^select set_config\(name, setting,/,
  /\bpg_stat_replication\b/,
  // The counts of replays, which a timer writes.
  /^select id from idempotency_keys where .* for key share$/,
  /^insert into key_replays\b/,
  // A process that keeps copies of answers listens for drops, and reads the epoch again after each.
  /^select epoch::text from answer_epochs\b/,
  /\bpg_control_system\(\)/,
]

/** The first pattern that matches names the statement. */
const NAMES: readonly (readonly [string, RegExp])[] = [
  ['authenticate', /\bfrom api_keys\b/],
  ['store-event', /^insert into provider_events\b/],
  ['reserve', /^insert into idempotency_keys\b/],
  ['release', /^delete from idempotency_keys where tenant_id = /],
  ['find-tombstones', /^select .* from key_tombstones where .* key_hash = any/],
  ['claim', /^update idempotency_keys set status = 'processing', .* attempts = attempts \+ 1/],
  ['claim-unknown', /^update idempotency_keys set status = 'processing', .* attempts = 1/],
  ['read-operation', /^select tenant_id, id, operation, key, .*, evidence, /],
  ['read-ages', /^select tenant_id, id, \(extract\(epoch from now\(\) - phase_began_at\)/],
  ['next-id', /^select next_id\(/],
  ['advance', /^update idempotency_keys set recovery_point = /],
  ['finish', /^update idempotency_keys set status = 'completed', .* in_doubt = false/],
  ['renew', /^update idempotency_keys set lease_expires_at = /],
  ['give-back', /^update idempotency_keys set (expires_at = .*, )?status = \$/],
  ['reopen', /^update idempotency_keys set status = 'pending', attempts = 0/],
  ['wake', /pg_notify\( ?'pgboss_/],
  ['announce', /^select pg_notify\(/],
  [LOOK_UP, /^select .* from idempotency_keys .* and status not in \('pending', 'processing'\)/],
  ['find-key', /^select found\.\* from unnest\(/],
  ['complete-job', /update atomic_jobs\.job.*completed_on.*state = 'completed'/],
  ['fail-job', /update atomic_jobs\.job.*state = /],
  [COMMIT, /^commit\b/],
]

/** The statements of pg-boss and of ours that fetch jobs. Their text names the queue. */
const FETCH = /with (?:next as|recursive turn) \(.*?\bname = '(?<queue>[a-z-.]+)'/

/** Our insert of jobs, by the first of its columns. It reads the queue. */
const INSERT_OF_JOBS = /^insert into "?atomic_jobs"?\.job \( ?id, name, data, start_after\b/

/** The queues of operations. The others belong to schedules and webhooks. */
const OPERATION_QUEUES = ['operations', 'provider-events']

/**
 * Names statements. At first it learns the statements of idle processes, which belong to no
 * operation.
 */
export class StatementNames {
  readonly #names = new Map<string, string | undefined>()
  /** Statements of idle processes, without the values in them. */
  readonly #idle: Set<string>
  #isLearning = true
  #learntAt = performance.now()

  /** @param idle what an earlier instance has learned. */
  constructor(idle: ReadonlySet<string> = new Set()) {
    this.#idle = new Set(idle)
  }

  get idle(): ReadonlySet<string> {
    return this.#idle
  }

  /** From now on an unknown statement belongs to an operation. */
  endLearning(): void {
    this.#isLearning = false
    this.#names.clear()
  }

  /** For how long nothing new was learned. */
  get learntForMs(): number {
    return performance.now() - this.#learntAt
  }

  /** The name of the statement; undefined when it belongs to no operation. */
  nameOf(text: string): string | undefined {
    if (this.#names.has(text)) return this.#names.get(text)
    const name = this.#findName(text)
    // Limited, because texts with values in them are different each time.
    if (this.#names.size < CACHED_TEXTS) this.#names.set(text, name)
    return name
  }

  #findName(text: string): string | undefined {
    const plain = text.replaceAll(COMMENT, '').replaceAll(/\s+/g, ' ').trim().toLowerCase()
    const queue = FETCH.exec(plain)?.groups?.['queue']
    if (queue !== undefined) return OPERATION_QUEUES.includes(queue) ? `fetch-${queue}` : undefined
    if (INSERT_OF_JOBS.test(plain)) return ADD_JOBS
    if (BACKGROUND.some((pattern) => pattern.test(plain))) return undefined
    const known = NAMES.find(([, pattern]) => pattern.test(plain))?.[0]
    if (known !== undefined) return known
    const kind = plain.replaceAll(/'[^']*'|\d+/g, '?')
    if (this.#isLearning && !this.#idle.has(kind)) {
      this.#idle.add(kind)
      this.#learntAt = performance.now()
    }
    return this.#idle.has(kind) ? undefined : describe(plain)
  }
}

const COMMENT = /--.*$/gm
const CACHED_TEXTS = 1_000

/**
 * Names a statement that the table does not know: its verb and its first table. A part of a statement
 * reads the rows of earlier parts as a recordset.
 */
function describe(plain: string): string {
  const [, verb = 'run', table = 'nothing'] =
    /\b(insert into|update|delete from|from) (?!jsonb_to_recordset)([a-z_."]+)/.exec(plain) ?? []
  const read = LOCKING.test(plain) ? 'lock' : 'select'
  return `${verb === 'from' ? read : verb.split(' ')[0]}-${table.replaceAll('"', '')}`
}

/** A read that locks its rows until the transaction ends. */
const LOCKING = /^select .* for (no key update|update|share)$/

const NOTHING = 'nothing'

/** The statements of jobs that are their own transactions. */
const COMMITTING: readonly string[] = ['fetch-operations', 'complete-job']

const isCommitting = (name: string): boolean => isCommit(name) || COMMITTING.includes(name)

/** Around a commit: the statement is not sent, sent, or committed without an acknowledgment. */
export function isCommitBoundary({ peer, message, name }: Point): boolean {
  return (
    peer === 'store' && isCommitting(name) && ['Sync', 'ReadyForQuery', 'Query'].includes(message)
  )
}

/**
 * The class of each point: the name of the last durable step.
 *
 * @param points in the order in which a run reached them.
 * @param before the class in which they begin.
 */
export function durableStates(points: readonly Point[], before = NOTHING): string[] {
  let state = before
  return points.map((point) => {
    if (isDurableStep(point)) state = point.name
    return state
  })
}

/** PostgreSQL commits what it was sent, and the provider has executed what it answers. */
function isDurableStep({ peer, name, message, moment, direction }: Point): boolean {
  if (peer === 'provider') return message === 'reply'
  const isSent =
    direction === 'out' && moment === 'after' && (message === 'Sync' || message === 'Query')
  return isSent && isCommitting(name)
}
