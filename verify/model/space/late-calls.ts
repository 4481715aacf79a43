// Computes the transitions of calls whose caller no longer waits: each call reaches the provider
// later, or is lost.
import type { SearchContext } from './search-context.ts'
import { deliver, removeInFlight, type Provider } from './provider.ts'
import type { State } from './state.ts'
import { NEVER, RANK, type Transition } from './transition.ts'

interface LateCall {
  readonly label: string
  readonly provider: number
  readonly rank: number
}

export class LateCalls {
  readonly #context: SearchContext
  readonly #known = new Map<number, readonly LateCall[]>()

  constructor(context: SearchContext) {
    this.#context = context
  }

  transitions(state: State): Transition[] {
    return this.#find(state.provider).map(({ label, provider, rank }) => ({
      describe: () => label,
      action: { kind: 'arrival' },
      rank,
      broken: [],
      state: { ...state, provider },
    }))
  }

  #find(provider: number): readonly LateCall[] {
    const known = this.#known.get(provider)
    if (known !== undefined) return known
    const { providers, space } = this.#context
    const value = providers.valueOf(provider)
    const to = (label: string, after: Provider, rank: number): LateCall => ({
      label,
      provider: providers.idOf(after),
      rank,
    })
    const found = Object.values(value).flatMap(({ inFlight }) =>
      inFlight.flatMap((call) => {
        const landed = removeInFlight(value, call)
        const arrived = deliver(landed, call, space.provider)
        return [
          ...arrived.map((one) => to(`a late ${call.call}: ${one.label}`, one.provider, NEVER)),
          to(`a late ${call.call} is lost`, landed, RANK.time),
        ]
      }),
    )
    this.#known.set(provider, found)
    return found
  }
}
