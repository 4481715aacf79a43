// A program that runs: where it stands, and what it holds of the store that others know of. The tokens that it was
// handed are told it under one name for all times; here stands whether they are current.
import { keyOfName, nameOfKey, ownerOf } from '../programs/ids.ts'
import { GENERATED_ID_PREFIX } from '../programs/symbols.ts'
import type { Work } from '../store/database.ts'
import type { Row, Value } from '../store/rows.ts'
import { CURRENT_EPOCH } from './canonical.ts'

export type Kind = 'work' | 'sweep' | 'reap' | 'check' | 'send'

export interface Instance {
  readonly kind: Kind
  /** Which key it is about; -1 for whoever is about all of them. */
  readonly key: number
  /** Where its automaton stands. */
  readonly node: number
  /** By key, the lease epoch that it has been told: the one before the current one, the current, or a next one. */
  readonly epochs: readonly (readonly [key: number, epoch: number])[]
  /** Of a worker: whether its job is the one that the row of its operation names. */
  readonly job: 'current' | 'old' | null
  /** Its open transactions, and under -1 what a statement has locked that waits. */
  readonly works: readonly (readonly [transaction: number, work: Work])[]
  /** The store that its present statement sees, when it has begun; -1 when it has not. */
  readonly snapshot: number
  /** Its lease has run out since it was answered last. */
  readonly isLate: boolean
  /** The ids that it has drawn and that have become rows, with the names of those rows. */
  readonly names: readonly (readonly [drawn: string, id: string])[]
}

export const NEW_INSTANCE = {
  epochs: [],
  job: null,
  works: [],
  snapshot: -1,
  isLate: false,
  names: [],
} as const

/** The transaction of a statement that is one by itself. */
export const AUTOCOMMIT = -1

/** The lease epoch of an operation as a program is told it, whatever it is; no other number is as large. */
const EPOCH_TOKEN = 900_000_000
/** Another one than it was told before. */
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

/** Somebody has raised the epoch of that key: what others hold of it is over, what was raised is current. */
export function afterNewEpoch(instance: Instance, key: number, isRaiser: boolean): Instance {
  if (epochOf(instance, key) === undefined) return instance
  return withEpoch(instance, key, isRaiser ? CURRENT_EPOCH : CURRENT_EPOCH - 1)
}

/** The lease of the operation has run out under its owner. */
export function afterExpiry(instance: Instance, key: number): Instance {
  return epochOf(instance, key) === CURRENT_EPOCH ? { ...instance, isLate: true } : instance
}

/** The operation has another job now. */
export function afterNewJob(instance: Instance, key: number): Instance {
  return instance.key === key && instance.job === 'current' ? { ...instance, job: 'old' } : instance
}

/** The parameters of a statement, with what the program holds in place of what it was told. */
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
    names.reduce((known, [drawn, id]) => known.replaceAll(drawn, id), text),
  ) as Value
}

/** The program with what it is told, and the rows as they are told it. */
export function receiveRows(
  instance: Instance,
  rows: readonly Row[],
  parameters: readonly Value[],
): { instance: Instance; rows: Row[] } {
  let receiver = instance
  const known = rows.map((row) => {
    const key = keyOf(row, parameters)
    if (key === undefined) return row
    const { lease_epoch: claimed, leaseEpoch: read } = row
    if (typeof claimed === 'number') {
      receiver = withEpoch(receiver, key, claimed)
      return { ...row, lease_epoch: EPOCH_TOKEN + key }
    }
    if (typeof read !== 'number') return row
    const isSame = epochOf(receiver, key) === read
    return { ...row, leaseEpoch: (isSame ? EPOCH_TOKEN : OTHER_EPOCH_TOKEN) + key }
  })
  const inverse = instance.names.map(([drawn, id]) => [id, drawn] as const)
  const text = inverse.reduce(
    (shown, [id, drawn]) => shown.replaceAll(id, drawn),
    JSON.stringify(known),
  )
  return { instance: receiver, rows: inverse.length === 0 ? known : (JSON.parse(text) as Row[]) }
}

const OPERATION_ID = /0a000000-0000-7000-8001-\d{12}/

/** Which key a row of an operation is of. */
function keyOf(row: Row, parameters: readonly Value[]): number | undefined {
  const { key, id } = row
  if (typeof key === 'string' && key.startsWith('key-')) return keyOfName(key)
  if (typeof id === 'string' && OPERATION_ID.test(id)) return ownerOf(id).key
  const [named] = OPERATION_ID.exec(JSON.stringify(parameters)) ?? []
  return named === undefined ? undefined : ownerOf(named).key
}

export const isMaintenance = ({ kind }: Pick<Instance, 'kind'>): boolean =>
  kind === 'sweep' || kind === 'reap' || kind === 'check'

const PROGRAM_NAMES: Readonly<Record<Kind, string>> = {
  work: 'the worker',
  sweep: 'the sweeper',
  reap: 'the reaper',
  check: 'the reconciler',
  send: 'the request',
}

export function nameOfInstance({ kind, key }: Instance): string {
  return key < 0 ? PROGRAM_NAMES[kind] : `${PROGRAM_NAMES[kind]} of ${nameOfKey(key)}`
}
