// Computes what the passing of time does to a key. Timestamps are relative to now, so time passes
// by making a key's timestamps older. Assumption: no program pauses for longer than a call can be
// in flight and then continues.
import type { Automaton } from '../programs/automaton.ts'
import { hashOfKey, isOfClient, keyOfName, nameOfKey } from '../programs/ids.ts'
import {
  KEY_WINDOW_SECONDS,
  LEASE_SECONDS,
  RETENTION_SECONDS,
  SETTLE_SECONDS,
} from '../programs/settings.ts'
import { type Database, type Row, toText } from '../store/rows.ts'
import { CURRENT_EPOCH, rowOfKey } from './canonical.ts'
import { afterExpiry, epochOf, type Instance, isAbout } from './instance.ts'
import { NEVER, PairMap, RANK, sortNumbers, spend, type State, type Transition } from './state.ts'
import type { SearchContext } from './search-context.ts'
import { forget, recordOf } from './provider.ts'
import type { Space } from './space.ts'

/** What must have ended before this much time can have passed. */
type Precondition = 'nothing' | 'calls' | 'programs'

interface TimeStep {
  readonly label: string
  readonly key: number
  readonly database: Database
  readonly precondition: Precondition
  /** The lease runs out. */
  readonly isExpiry: boolean
  /** The schedule of the outcome resolver advances. */
  readonly isCheck: boolean
  /** The provider forgets its idempotency keys as well. */
  readonly forgets: boolean
}

type InternedTimeStep = Omit<TimeStep, 'database'> & {
  readonly database: number
  readonly operationId: string
}

export class Clock {
  readonly #automaton: Automaton
  readonly #context: SearchContext
  readonly #stepsByDatabase = new Map<number, readonly InternedTimeStep[]>()
  readonly #afterForgetting = new Map<string, number>()
  readonly #afterExpiryIds = new PairMap<number>()

  constructor(automaton: Automaton, context: SearchContext) {
    this.#automaton = automaton
    this.#context = context
  }

  transitions(state: State, running: readonly Instance[]): Transition[] {
    const transitions: Transition[] = []
    for (const step of this.#find(state.database)) {
      const transition =
        this.#isPossible(state, step, running) && this.#transition(state, step, running)
      if (transition) transitions.push(transition)
    }
    return transitions
  }

  #transition(
    state: State,
    step: InternedTimeStep,
    running: readonly Instance[],
  ): Transition | undefined {
    const { key, isExpiry, forgets, label, database, operationId } = step
    const isOwner = (one: Instance) => epochOf(one, key) === CURRENT_EPOCH
    const isUnderLivingOwner = isExpiry && running.some(isOwner)
    if (isUnderLivingOwner && state.budget.expiries === 0) return undefined
    const isFaultFree = (isExpiry && !isUnderLivingOwner) || step.isCheck
    return {
      describe: () => `${nameOfKey(key)}: ${label}`,
      rank: isFaultFree ? (isExpiry ? RANK.expiry : RANK.time) : NEVER,
      violations: [],
      state: {
        ...state,
        database,
        instances: isExpiry ? this.#withExpiredLease(state.instances, key) : state.instances,
        provider: forgets ? this.#forget(state.provider, operationId) : state.provider,
        budget: isUnderLivingOwner ? spend(state.budget, 'expiries') : state.budget,
      },
    }
  }

  #withExpiredLease(instances: readonly number[], key: number): readonly number[] {
    return sortNumbers(
      instances.map((id) => this.#afterExpiryIds.get(id, key) ?? this.#computeAfterExpiry(id, key)),
    )
  }

  #computeAfterExpiry(id: number, key: number): number {
    const { instances } = this.#context
    const late = instances.idOf(afterExpiry(instances.valueOf(id), key))
    return this.#afterExpiryIds.set(id, key, late)
  }

  #forget(provider: number, operationId: string): number {
    const name = `${provider} ${operationId}`
    const cached = this.#afterForgetting.get(name)
    if (cached !== undefined) return cached
    const { providers } = this.#context
    const forgotten = providers.idOf(forget(providers.valueOf(provider), operationId))
    this.#afterForgetting.set(name, forgotten)
    return forgotten
  }

  #isPossible(
    { provider }: State,
    { precondition, key, operationId }: InternedTimeStep,
    running: readonly Instance[],
  ): boolean {
    if (precondition === 'nothing') return true
    const isCalling = (one: Instance) => this.#automaton.nodeOf(one.node).calls.length > 0
    const { inFlight } = recordOf(this.#context.providers.valueOf(provider), operationId)
    if (inFlight.length > 0) return false
    return !running.some(
      (one) => isAbout(one, key) && (precondition === 'programs' || isCalling(one)),
    )
  }

  #find(database: number): readonly InternedTimeStep[] {
    const cached = this.#stepsByDatabase.get(database)
    if (cached !== undefined) return cached
    const { databases, space } = this.#context
    const value = databases.valueOf(database)
    const steps = (value['idempotency_keys'] ?? []).flatMap((row) => timeSteps(space, value, row))
    const possible = steps.filter(({ forgets }) => !forgets || space.provider.forgets)
    const internedSteps = possible.map((step) => ({
      ...step,
      database: databases.idOf(step.database),
      operationId: toText(rowOfKey(value, step.key)?.['id']),
    }))
    this.#stepsByDatabase.set(database, internedSteps)
    return internedSteps
  }
}

/** All time steps that are possible for the key of a row in this store. */
function timeSteps(space: Space, database: Database, row: Row): TimeStep[] {
  const key = keyOfName(toText(row['key']))
  const change = (changes: Row): Database => ({
    ...database,
    idempotency_keys: (database['idempotency_keys'] ?? []).map((other) =>
      other === row ? { ...other, ...changes } : other,
    ),
  })
  const defaults = {
    key,
    precondition: 'nothing',
    isExpiry: false,
    isCheck: false,
    forgets: false,
  } as const
  const steps: TimeStep[] = []
  if (row['status'] === 'processing' && Number(row['lease_expires_at']) > 0) {
    const expiredLease = change({ lease_expires_at: -1 })
    steps.push({ ...defaults, label: 'the lease runs out', database: expiredLease, isExpiry: true })
  }
  if (row['status'] === 'unknown') steps.push(...checkSteps(space, row, defaults, change))
  if (row['status'] !== 'completed') {
    const began = row['phase_began_at'] === null ? null : -KEY_WINDOW_SECONDS
    const lease = row['status'] === 'processing' ? { lease_expires_at: -1 } : {}
    const forgotten = change({ phase_began_at: began, ...lease })
    const label = 'the provider forgets its idempotency keys'
    steps.push({ ...defaults, label, database: forgotten, precondition: 'programs', forgets: true })
  }
  // The event of a cancellation repeats what it began long before its key expires.
  const isGivenUp = row['status'] === 'failed_retryable' && isOfClient(key)
  const mayExpire = isGivenUp || (row['status'] === 'completed' && space.expires)
  if (mayExpire && Number(row['expires_at']) > 0) {
    const expired = {
      ...change({ expires_at: -1 }),
      key_tombstones: withAgedTombstone(database, row),
    }
    steps.push({
      ...defaults,
      label: 'the key expires',
      database: expired,
      precondition: 'programs',
    })
  }
  return steps
}

/** The next check of the outcome resolver, or the end of the time allowed for the last check. */
function checkSteps(
  { checks }: Space,
  row: Row,
  defaults: Omit<TimeStep, 'label' | 'database'>,
  change: (changes: Row) => Database,
): TimeStep[] {
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
    const precondition = isLong ? 'calls' : 'nothing'
    return [{ ...defaults, label: 'a check is due', database, precondition, isCheck: true }]
  }
  const last = checks.at(-1) ?? 0
  const wait = unknownAt + last + LEASE_SECONDS + 1
  if (wait <= 0) return []
  const database = change(older(wait))
  return [
    {
      ...defaults,
      label: 'the time for the last check has passed',
      database,
      precondition: 'programs',
      isCheck: true,
    },
  ]
}

/** The tombstone of an earlier life of the key is as old as the retention period. */
function withAgedTombstone(database: Database, row: Row): readonly Row[] {
  return (database['key_tombstones'] ?? []).map((tombstone) =>
    tombstone['key_hash'] === hashOf(row)
      ? { ...tombstone, deleted_at: -RETENTION_SECONDS }
      : tombstone,
  )
}

const hashOf = ({ key }: Row): string => hashOfKey(toText(key))
