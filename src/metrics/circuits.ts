// Keeps the state of each circuit breaker of a process, for its report to operators.
import { storeCircuits } from '../http/observer.ts'

/** A circuit, as the report shows it. */
interface Circuit<Kind> {
  readonly kind: Kind
  readonly state: 'closed' | 'open'
  readonly seconds: number
}

interface Circuits<Kind> {
  /** A circuit opened or closed. */
  readonly turned: (kind: Kind, isOpen: boolean) => void
  readonly read: () => Circuit<Kind>[]
}

export type ApiCircuits = Circuits<(typeof storeCircuits)[number]>
export type WorkerCircuits = Circuits<'provider'>

export const apiCircuits = (): ApiCircuits => createCircuits(storeCircuits)

/** @param callsProvider false for a worker for webhooks alone. */
export const workerCircuits = (callsProvider: boolean): WorkerCircuits =>
  createCircuits(callsProvider ? ['provider'] : [])

/** The circuits are closed at first. */
function createCircuits<Kind extends string>(kinds: readonly Kind[]): Circuits<Kind> {
  const states = new Map(kinds.map((kind) => [kind, { isOpen: false, sinceMs: performance.now() }]))
  return {
    turned(kind, isOpen) {
      // From open to half-open it stays open.
      if (states.get(kind)?.isOpen !== isOpen) {
        states.set(kind, { isOpen, sinceMs: performance.now() })
      }
    },
    read: () =>
      [...states].map(([kind, { isOpen, sinceMs }]) => ({
        kind,
        state: isOpen ? 'open' : 'closed',
        seconds: Math.round((performance.now() - sinceMs) / 1_000),
      })),
  }
}
