// Computes the transitions of calls whose caller no longer waits: each call reaches the provider
// later, or is lost. The work of a call whose failure the provider keeps is completed later, or never.
import type { SearchContext } from './search-context.ts'
import { complete, deliver, removeInFlight, type Provider } from './provider.ts'
import type { State } from './state.ts'
import { NEVER, RANK, type Transition } from './transition.ts'

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
