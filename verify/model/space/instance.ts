// Defines an instance: a running program, with its position and with what other programs can
// invalidate. The program receives a lease epoch as a constant token; the instance records whether
// that epoch is current. So a program's node does not depend on the number of the epoch.
import { GENERATED_ID_PREFIX, keyOfName, nameOfKey, ownerOf } from '../programs/ids.ts'
import type { Row, Value, Work } from '../store/rows.ts'
import { CURRENT_EPOCH } from './canonical.ts'

type Kind = 'work' | 'sweep' | 'reap' | 'check' | 'send' | 'cancel' | 'apply'

/** A job of a worker process, or a request to an API process. */
export interface Member {
  readonly key: number
  /** For a worker: whether its job is the one that the row of its operation names. */
  readonly job: 'current' | 'old' | null
}

export interface Instance {
  readonly kind: Kind
  /**
   * What it works on, at the same time; null for a member that has ended. Empty for programs that
   * work on all keys.
   */
  readonly members: readonly (Member | null)[]
  /** The node of its automaton. */
  readonly node: number
  /** By key, the lease epoch that it received: stale, current, or one that is not committed yet. */
  readonly epochs: readonly (readonly [key: number, epoch: number])[]
  /** The work of its open transactions. */
  readonly works: readonly (readonly [transaction: number, work: Work])[]
  /** The snapshot of its current statement if it has begun; otherwise -1. */
  readonly snapshot: number
  /** Whether its lease ran out since the last answer. */
  readonly isLate: boolean
  /** The generated ids that became rows, with the canonical names of these rows. */
  readonly names: readonly (readonly [drawn: string, id: string])[]
}

export const NEW_INSTANCE = {
  epochs: [],
  works: [],
  snapshot: -1,
  isLate: false,
  names: [],
} as const

/**
 * Added to the key, this is the token for the lease epoch that a program received. No other number
 * in a statement is as large.
 */
const EPOCH_TOKEN = 900_000_000
/** The token for an epoch that differs from the one received before. */
const OTHER_EPOCH_TOKEN = 910_000_000

export function workOf({ works }: Instance, transaction: number): Work | undefined {
  return works.find(([own]) => own === transaction)?.[1]
}

export function withWork(
  instance: Instance,
  transaction: number,
  work: Work | undefined,
): Instance {
  const others = instance.works.filter(([own]) => own !== transaction)
  const hasWork =
    work !== undefined && work.changes.length + work.locks.length + work.pending.length > 0
  const works = hasWork ? [...others, [transaction, work] as const] : others
  return { ...instance, works: works.toSorted(([one], [other]) => one - other) }
}

export function epochOf({ epochs }: Instance, key: number): number | undefined {
  return epochs.find(([own]) => own === key)?.[1]
}

function withEpoch(instance: Instance, key: number, epoch: number): Instance {
  const others = instance.epochs.filter(([own]) => own !== key)
  const epochs = [...others, [key, epoch] as const]
  return { ...instance, epochs: epochs.toSorted(([one], [other]) => one - other) }
}

/**
 * The epoch of the key was raised: it is current for the program that raised it, and stale for the
 * others.
 */
export function afterNewEpoch(instance: Instance, key: number, isRaiser: boolean): Instance {
  if (epochOf(instance, key) === undefined) return instance
  return withEpoch(instance, key, isRaiser ? CURRENT_EPOCH : CURRENT_EPOCH - 1)
}

/** The lease ran out while its owner is alive. */
export function afterExpiry(instance: Instance, key: number): Instance {
  return epochOf(instance, key) === CURRENT_EPOCH ? { ...instance, isLate: true } : instance
}

/** The operation has a new job. */
export function afterNewJob(instance: Instance, key: number): Instance {
  const isAffected = (member: Member | null) => member?.key === key && member.job === 'current'
  if (!instance.members.some(isAffected)) return instance
  const members = instance.members.map((member) =>
    isAffected(member) ? { key, job: 'old' as const } : member,
  )
  return { ...instance, members }
}

/** These members have ended. What they learned about their keys is forgotten with them. */
export function afterEnd(instance: Instance, ended: readonly number[]): Instance {
  if (ended.length === 0) return instance
  const members = instance.members.map((member, index) => (ended.includes(index) ? null : member))
  const isLeft = (key: number) => members.some((member) => member?.key === key)
  const epochs = instance.epochs.filter(([key]) => isLeft(key))
  return { ...instance, members, epochs }
}

/**
 * The parameters of a statement, with tokens and generated ids replaced by the instance's values.
 */
export function parametersOf(instance: Instance, parameters: readonly Value[]): Value[] {
  return parameters.map((value) => {
    if (typeof value === 'number') return epochOfToken(instance, value)
    return mapIds(value, instance.names)
  })
}

function epochOfToken(instance: Instance, value: number): number {
  if (value >= OTHER_EPOCH_TOKEN) return -1
  return value >= EPOCH_TOKEN ? (epochOf(instance, value - EPOCH_TOKEN) ?? -1) : value
}

function mapIds(value: Value, names: Instance['names']): Value {
  if (names.length === 0) return value
  const text = JSON.stringify(value)
  if (!text.includes(GENERATED_ID_PREFIX)) return value
  return JSON.parse(
    names.reduce((renamed, [drawn, id]) => renamed.replaceAll(drawn, id), text),
  ) as Value
}

/** The instance after it received rows, and the rows with tokens and generated ids. */
export function receiveRows(
  instance: Instance,
  rows: readonly Row[],
  parameters: readonly Value[],
): { instance: Instance; rows: Row[] } {
  let receiver = instance
  const rowsWithTokens = rows.map(withoutWait).map((row) => {
    const key = keyOf(row, parameters)
    if (key === undefined) return row
    const { lease_epoch: claimed, leaseEpoch: read } = row
    if (typeof claimed === 'number') {
      // Requests and events read epochs, but own no lease.
      const isRequest = ['send', 'cancel', 'apply'].includes(receiver.kind)
      if (!isRequest) receiver = withEpoch(receiver, key, claimed)
      return { ...row, lease_epoch: EPOCH_TOKEN + key }
    }
    if (typeof read !== 'number') return row
    const isSame = epochOf(receiver, key) === read
    return { ...row, leaseEpoch: (isSame ? EPOCH_TOKEN : OTHER_EPOCH_TOKEN) + key }
  })
  const inverse = instance.names.map(([drawn, id]) => [id, drawn] as const)
  const text = inverse.reduce(
    (renamed, [id, drawn]) => renamed.replaceAll(id, drawn),
    JSON.stringify(rowsWithTokens),
  )
  return {
    instance: receiver,
    rows: inverse.length === 0 ? rowsWithTokens : (JSON.parse(text) as Row[]),
  }
}

/**
 * Without the time that an answer names in Retry-After. It differs at each moment, and no statement
 * depends on it.
 */
function withoutWait(row: Row): Row {
  return 'due_in_seconds' in row ? { ...row, due_in_seconds: null } : row
}

const OPERATION_ID = /0a000000-0000-7000-8001-\d{12}/

/** The key that a row of an operation belongs to. */
function keyOf(row: Row, parameters: readonly Value[]): number | undefined {
  const { key, id } = row
  if (typeof key === 'string' && key.startsWith('key-')) return keyOfName(key)
  if (typeof id === 'string' && OPERATION_ID.test(id)) return ownerOf(id).key
  const [named] = OPERATION_ID.exec(JSON.stringify(parameters)) ?? []
  return named === undefined ? undefined : ownerOf(named).key
}

/** Whether the program works on the key. */
export const isAbout = ({ members }: Instance, key: number): boolean =>
  members.length === 0 || members.some((member) => member?.key === key)

export const isMaintenance = ({ kind }: Pick<Instance, 'kind'>): boolean =>
  kind === 'sweep' || kind === 'reap' || kind === 'check'

const PROGRAM_NAMES: Readonly<Record<Kind, string>> = {
  work: 'the worker',
  sweep: 'the sweeper',
  reap: 'the reaper',
  check: 'the outcome resolver',
  send: 'the client request',
  cancel: 'the cancellation',
  apply: 'the event',
}

export function nameOfInstance({ kind, members }: Instance): string {
  const left = members.filter((member) => member !== null)
  const keys = left.map(({ key }) => nameOfKey(key)).join(' and ')
  return keys === '' ? PROGRAM_NAMES[kind] : `${PROGRAM_NAMES[kind]} of ${keys}`
}
