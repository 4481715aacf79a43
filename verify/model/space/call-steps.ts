// Computes the possible effects of a provider call: it reaches the provider now, later or never,
// and its answer arrives or is lost.
import { isAtSecond, ownerOf } from '../programs/ids.ts'
import type { Answer, CallRequest } from '../programs/requests.ts'
import { toText } from '../store/rows.ts'
import type { Effect, EffectBuilder, EffectSummary, SharedState, StepContext } from './effect.ts'
import { FAULT_FREE, NO_CONSEQUENCES } from './effect.ts'
import { epochOf, type Instance } from './instance.ts'
import { rankOf } from './step-invariants.ts'
import type { Provider } from './provider.ts'
import {
  addInFlight,
  complete,
  deliver,
  isLookup,
  notExecuted,
  removeInFlight,
  unknownOutcome,
} from './provider.ts'
import type { SearchContext } from './search-context.ts'
import { NEVER, RANK, type State, type Transition } from './state.ts'

export class CallSteps {
  readonly #context: StepContext
  readonly #effects: EffectBuilder

  constructor(context: StepContext, effectBuilder: EffectBuilder) {
    this.#context = context
    this.#effects = effectBuilder
  }

  async find(instance: Instance, shared: SharedState, call: CallRequest): Promise<Effect[]> {
    const { provider: providerMay } = this.#context.space
    const provider = this.#context.providers.valueOf(shared.provider)
    const violations = this.#checkCall(instance, shared, call)
    const effects: Effect[] = []
    const addEffect = async (summary: EffectSummary, after: Provider, answer: Answer) => {
      const at = { ...shared, provider: this.#context.providers.idOf(after) }
      effects.push(
        await this.#effects.afterAnswer(instance, at, answer, { ...summary, violations }),
      )
    }
    for (const { label, provider: after, outcome, isFault } of deliver(
      provider,
      call,
      providerMay,
    )) {
      const summary = { label: `${call.call} ${label}`, ...FAULT_FREE, isFaultFree: !isFault }
      await addEffect(summary, after, { kind: 'outcome', outcome })
      const lost = { ...summary, label: `${summary.label}, answer lost`, isFaultFree: false }
      if (!isLookup(call)) await addEffect(lost, after, UNKNOWN)
    }
    const providerFault = { act: 'executed', cost: undefined, isFaultFree: false } as const
    if (isLookup(call)) {
      if (providerMay.hides)
        await addEffect(
          { label: `${call.call} gives no information`, ...providerFault },
          provider,
          // A failed read proves that nothing was executed.
          call.call === 'retrieve' ? REFUSED : UNKNOWN,
        )
      return effects
    }
    if (providerMay.refuses)
      await addEffect({ label: `${call.call} refused`, ...providerFault }, provider, REFUSED)
    if (providerMay.delays) {
      const late = addInFlight(provider, call)
      await addEffect(
        { label: `${call.call} times out, call in flight`, ...providerFault },
        late,
        UNKNOWN,
      )
    }
    return effects
  }

  /**
   * Invariant 8: the owner of an operation calls only what the stored recovery point asks for. A
   * former owner may be behind, but never ahead.
   */
  #checkCall(instance: Instance, { database }: SharedState, call: CallRequest): string[] {
    const { idempotency_keys: keys = [] } = this.#context.databases.valueOf(database)
    const row = keys.find(({ id }) => id === call.operationId)
    const isOnlyCall = row?.['operation'] === 'payment.cancel'
    const phase = isOnlyCall ? 'started' : recoveryPointOf(call)
    // An outcome resolver works on all keys, so the key comes from the call.
    const { key } = ownerOf(call.operationId)
    if (phase === undefined || row === undefined) return []
    const isOwner = epochOf(instance, key) === row['lease_epoch'] && row['status'] === 'processing'
    const point = toText(row['recovery_point'])
    const isAllowed = isOwner ? point === phase : rankOf(point) >= rankOf(phase)
    return isAllowed ? [] : [`8: ${call.call} is called at recovery point ${point}`]
  }

  /** The program ends at once. Each call that it made may still be in flight. */
  crash(instance: Instance, shared: SharedState): Effect[] {
    const { database, provider } = shared
    const { calls } = this.#context.automaton.nodeOf(instance.node)
    const ended = { after: undefined, act: 'crash', isFaultFree: false } as const
    const crash = { ...NO_CONSEQUENCES, database, provider, ...ended }
    const crashes: Effect = { ...crash, label: 'crashes', cost: 'crashes' }
    if (!this.#context.space.provider.delays) return [crashes]
    const { providers } = this.#context
    return subsetsOf(calls.filter((call) => !isLookup(call))).map((inFlight): Effect => {
      if (inFlight.length === 0) return crashes
      const withLateCalls = inFlight.reduce(addInFlight, providers.valueOf(provider))
      const label = `crashes, ${inFlight.map(({ call }) => call).join(' and ')} in flight`
      return { ...crashes, label, provider: providers.idOf(withLateCalls) }
    })
  }
}

function subsetsOf<Element>(elements: readonly Element[]): Element[][] {
  return elements.reduce<Element[][]>(
    (subsets, element) => [...subsets, ...subsets.map((subset) => [...subset, element])],
    [[]],
  )
}

const UNKNOWN = { kind: 'outcome', outcome: unknownOutcome } as const
const REFUSED = { kind: 'outcome', outcome: notExecuted } as const

/** The recovery point at which a call is allowed. */
function recoveryPointOf({ call, recordId }: CallRequest): string | undefined {
  return call === 'authorize' && isAtSecond(recordId) ? 'moved' : RECOVERY_POINT_OF_CALL[call]
}

const RECOVERY_POINT_OF_CALL: Readonly<Record<string, string | undefined>> = {
  authorize: 'started',
  capture: 'authorized',
  cancel: 'refused',
  retrieve: 'kept',
  refund: 'started',
}

interface LateCall {
  readonly label: string
  readonly provider: number
  readonly rank: number
}

export class LateCalls {
  readonly #context: SearchContext
  readonly #lateCallsByProvider = new Map<number, readonly LateCall[]>()

  constructor(context: SearchContext) {
    this.#context = context
  }

  transitions(state: State): Transition[] {
    return this.#find(state.provider).map(({ label, provider, rank }) => ({
      describe: () => label,
      rank,
      violations: [],
      state: { ...state, provider },
    }))
  }

  #find(provider: number): readonly LateCall[] {
    const cached = this.#lateCallsByProvider.get(provider)
    if (cached !== undefined) return cached
    const { providers, space } = this.#context
    const value = providers.valueOf(provider)
    const to = (label: string, after: Provider, rank: number): LateCall => ({
      label,
      provider: providers.idOf(after),
      rank,
    })
    const lateCalls = Object.values(value).flatMap(({ inFlight }) =>
      inFlight.flatMap((call) => {
        const withoutCall = removeInFlight(value, call)
        const deliveries = deliver(withoutCall, call, space.provider)
        return [
          ...deliveries.map((one) => to(`late ${call.call}: ${one.label}`, one.provider, NEVER)),
          to(`late ${call.call}: lost`, withoutCall, RANK.time),
        ]
      }),
    )
    const completions = Object.values(value).flatMap(({ unfinished }) =>
      unfinished.map((call) => to(`${call.call}: completed late`, complete(value, call), NEVER)),
    )
    const all = [...lateCalls, ...completions]
    this.#lateCallsByProvider.set(provider, all)
    return all
  }
}
