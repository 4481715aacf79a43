// Calls that nobody waits for any more: each arrives at the provider some time later, or is lost.
import type { Parts } from './parts.ts'
import { deliver, land, type Provider } from './provider.ts'
import type { State } from './state.ts'
import { NEVER, RANK, type Move } from './move.ts'

interface Arrival {
  readonly label: string
  readonly provider: number
  readonly rank: number
}

export class Arrivals {
  readonly #parts: Parts
  readonly #known = new Map<number, readonly Arrival[]>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  moves(state: State): Move[] {
    return this.#arrivals(state.provider).map(({ label, provider, rank }) => ({
      describe: () => label,
      action: { kind: 'arrival' },
      rank,
      broken: [],
      state: { ...state, provider },
    }))
  }

  #arrivals(provider: number): readonly Arrival[] {
    const known = this.#known.get(provider)
    if (known !== undefined) return known
    const { providers, space } = this.#parts
    const value = providers.valueOf(provider)
    const to = (label: string, after: Provider, rank: number): Arrival => ({
      label,
      provider: providers.idOf(after),
      rank,
    })
    const found = Object.values(value).flatMap(({ flying }) =>
      flying.flatMap((call) => {
        const landed = land(value, call)
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
