// What the mere passing of time does to a key. It is always now: what passes is what everything about the key is older
// by. Nobody stands still for longer than a call may be on its way, and goes on with it.
import type { Automaton } from '../programs/automaton.ts'
import { keyOfName, nameOfKey } from '../programs/ids.ts'
import {
  KEY_WINDOW_SECONDS,
  LEASE_SECONDS,
  RETENTION_SECONDS,
  SETTLE_SECONDS,
  STATEMENT_TIMEOUT_SECONDS,
} from '../programs/settings.ts'
import type { Database } from '../store/database.ts'
import { inWords, type Row } from '../store/rows.ts'
import { CURRENT_EPOCH } from './canonical.ts'
import { afterExpiry, epochOf, type Instance } from './instance.ts'
import { Pairs } from './pairs.ts'
import type { Parts } from './parts.ts'
import { forget, recordOf } from './provider.ts'
import { rowOfKey } from './starts.ts'
import type { Space } from './space.ts'
import { inOrder, spend, type State } from './state.ts'
import { NEVER, RANK, type Move } from './move.ts'

/** What has to be over before so much time may have passed. */
type Until = 'nothing' | 'calls' | 'programs' | 'statements'

interface Passing {
  readonly label: string
  readonly key: number
  readonly database: Database
  readonly until: Until
  /** A lease runs out. */
  readonly isExpiry: boolean
  /** The reconciler's schedule goes on. */
  readonly isCheck: boolean
  /** The provider forgets, too. */
  readonly forgets: boolean
}

type KnownPassing = Omit<Passing, 'database'> & {
  readonly database: number
  readonly operationId: string
}

export class Clock {
  readonly #automaton: Automaton
  readonly #parts: Parts
  readonly #passings = new Map<number, readonly KnownPassing[]>()
  readonly #forgotten = new Map<string, number>()
  readonly #lates = new Pairs<number>()

  constructor(automaton: Automaton, parts: Parts) {
    this.#automaton = automaton
    this.#parts = parts
  }

  moves(state: State, running: readonly Instance[]): Move[] {
    const moves: Move[] = []
    for (const passing of this.#find(state.database)) {
      const move = this.#isOver(state, passing, running) && this.#move(state, passing, running)
      if (move) moves.push(move)
    }
    return moves
  }

  #move(state: State, passing: KnownPassing, running: readonly Instance[]): Move | undefined {
    const { key, isExpiry, forgets, label, database, operationId } = passing
    const isOwner = (one: Instance) => one.kind !== 'send' && epochOf(one, key) === CURRENT_EPOCH
    const isForced = isExpiry && running.some(isOwner)
    if (isForced && state.budget.expiries === 0) return undefined
    const isNatural = (isExpiry && !isForced) || passing.isCheck
    return {
      describe: () => `${nameOfKey(key)}: ${label}`,
      action: { kind: 'time', key },
      rank: isNatural ? (isExpiry ? RANK.expiry : RANK.time) : NEVER,
      broken: [],
      state: {
        ...state,
        database,
        instances: isExpiry ? this.#late(state.instances, key) : state.instances,
        provider: forgets ? this.#forget(state.provider, operationId) : state.provider,
        budget: isForced ? spend(state.budget, 'expiries') : state.budget,
      },
    }
  }

  #late(instances: readonly number[], key: number): readonly number[] {
    return inOrder(instances.map((id) => this.#lates.get(id, key) ?? this.#makeLate(id, key)))
  }

  #makeLate(id: number, key: number): number {
    const { instances } = this.#parts
    const late = instances.idOf(afterExpiry(instances.valueOf(id), key))
    return this.#lates.set(id, key, late)
  }

  #forget(provider: number, operationId: string): number {
    const name = `${provider} ${operationId}`
    const known = this.#forgotten.get(name)
    if (known !== undefined) return known
    const { providers } = this.#parts
    const forgotten = providers.idOf(forget(providers.valueOf(provider), operationId))
    this.#forgotten.set(name, forgotten)
    return forgotten
  }

  #isOver(
    { provider }: State,
    { until, key, operationId }: KnownPassing,
    running: readonly Instance[],
  ): boolean {
    if (until === 'nothing') return true
    if (until === 'statements') return running.every(({ snapshot }) => snapshot < 0)
    const isAbout = (one: Instance) => one.key === key || one.key < 0
    const isCalling = (one: Instance) => this.#automaton.nodeOf(one.node).pending?.kind === 'call'
    const { flying } = recordOf(this.#parts.providers.valueOf(provider), operationId)
    if (flying.length > 0) return false
    return !running.some((one) => isAbout(one) && (until === 'programs' || isCalling(one)))
  }

  #find(database: number): readonly KnownPassing[] {
    const known = this.#passings.get(database)
    if (known !== undefined) return known
    const { databases, space } = this.#parts
    const value = databases.valueOf(database)
    const found = (value['idempotency_keys'] ?? []).flatMap((row) => passings(space, value, row))
    const kept = found.filter(({ forgets }) => !forgets || space.provider.forgets)
    const named = kept.map((passing) => ({
      ...passing,
      database: databases.idOf(passing.database),
      operationId: inWords(rowOfKey(value, passing.key)?.['id']),
    }))
    this.#passings.set(database, named)
    return named
  }
}

/** Everything that may be over for the key of a row, given what is in the store. */
function passings(space: Space, database: Database, row: Row): Passing[] {
  const key = keyOfName(inWords(row['key']))
  const change = (changes: Row): Database => ({
    ...database,
    idempotency_keys: (database['idempotency_keys'] ?? []).map((other) =>
      other === row ? { ...other, ...changes } : other,
    ),
  })
  const usual = {
    key,
    until: 'nothing',
    isExpiry: false,
    isCheck: false,
    forgets: false,
  } as const
  const found: Passing[] = []
  if (row['status'] === 'processing' && Number(row['lease_expires_at']) > 0) {
    const gone = change({ lease_expires_at: -1 })
    found.push({ ...usual, label: 'the lease runs out', database: gone, isExpiry: true })
  }
  if (row['status'] === 'unknown') found.push(...waitings(space, row, usual, change))
  if (row['status'] !== 'completed') {
    const began = row['phase_began_at'] === null ? null : -KEY_WINDOW_SECONDS
    const lease = row['status'] === 'processing' ? { lease_expires_at: -1 } : {}
    const forgotten = change({ phase_began_at: began, ...lease })
    const label = 'the provider forgets its keys'
    found.push({ ...usual, label, database: forgotten, until: 'programs', forgets: true })
  }
  const isOver =
    row['status'] === 'failed_retryable' || (row['status'] === 'completed' && space.expires)
  if (isOver && Number(row['expires_at']) > 0) {
    const expired = { ...change({ expires_at: -1 }), key_tombstones: aged(database, row) }
    found.push({ ...usual, label: 'the key expires', database: expired, until: 'programs' })
  }
  return [...found, ...settling(database, row, usual)]
}

/** The reconciler's next check, and what is given the last one to end. */
function waitings(
  { checks }: Space,
  row: Row,
  usual: Omit<Passing, 'label' | 'database'>,
  change: (changes: Row) => Database,
): Passing[] {
  const unknownAt = Number(row['unknown_at'])
  const older = (seconds: number) => ({
    unknown_at: unknownAt - seconds,
    checked_at: row['checked_at'] === null ? null : Number(row['checked_at']) - seconds,
    next_check_at: row['next_check_at'] === null ? null : Number(row['next_check_at']) - seconds,
  })
  if (row['next_check_at'] !== null) {
    const wait = Number(row['next_check_at'])
    if (wait <= 0) return []
    const isLong = wait - unknownAt >= SETTLE_SECONDS
    const database = change(older(wait))
    const until = isLong ? 'calls' : 'nothing'
    return [{ ...usual, label: 'a check is due', database, until, isCheck: true }]
  }
  const last = checks.at(-1) ?? 0
  const wait = unknownAt + last + LEASE_SECONDS + 1
  if (wait <= 0) return []
  const database = change(older(wait))
  return [{ ...usual, label: 'the last check is over', database, until: 'programs', isCheck: true }]
}

/** What the key had made in a life before is buried for as long as a key lasts. */
function aged(database: Database, row: Row): readonly Row[] {
  return (database['key_tombstones'] ?? []).map((stone) =>
    stone['key_hash'] === hashOf(row) ? { ...stone, buried_at: -RETENTION_SECONDS } : stone,
  )
}

const hashOf = (row: Row): string => `\\x${Buffer.from(inWords(row['key'])).toString('hex')}`

/** No statement runs any more that began before the tombstone was there. */
function settling(
  database: Database,
  row: Row,
  usual: Omit<Passing, 'label' | 'database'>,
): Passing[] {
  const tombstones = database['key_tombstones'] ?? []
  const isFresh = (stone: Row) =>
    stone['key_hash'] === hashOf(row) && Number(stone['buried_at']) === 0
  if (row['status'] !== 'completed' || Number(row['expires_at']) > 0) return []
  if (!tombstones.some(isFresh)) return []
  const passed = 2 * STATEMENT_TIMEOUT_SECONDS + 1
  const after = {
    ...database,
    idempotency_keys: (database['idempotency_keys'] ?? []).map((other) =>
      other === row ? { ...other, expires_at: -passed - 1 } : other,
    ),
    key_tombstones: tombstones.map((stone) =>
      isFresh(stone) ? { ...stone, buried_at: -passed } : stone,
    ),
  }
  return [{ ...usual, label: 'old statements are over', database: after, until: 'statements' }]
}
