// What may come of a call: it reaches the provider, at once, late or never, and its answer comes back or is lost.
import { ownerOf } from '../programs/ids.ts'
import type { Answer, CallRequest } from '../programs/requests.ts'
import { inWords } from '../store/rows.ts'
import type { Consequences, StepParts } from './consequences.ts'
import { PLAIN, WITHOUT, type Effect, type Place, type Told } from './effect.ts'
import { epochOf, type Instance } from './instance.ts'
import { deliver, isLook, launch, notExecuted, unknownOutcome, type Provider } from './provider.ts'

export class CallSteps {
  readonly #parts: StepParts
  readonly #consequences: Consequences

  constructor(parts: StepParts, consequences: Consequences) {
    this.#parts = parts
    this.#consequences = consequences
  }

  async find(instance: Instance, place: Place, call: CallRequest): Promise<Effect[]> {
    const { provider: may } = this.#parts.space
    const provider = this.#parts.providers.valueOf(place.provider)
    const broken = this.#brokenByCall(instance, place, call)
    const effects: Effect[] = []
    const tellOf = async (told: Told, after: Provider, answer: Answer) => {
      const at = { ...place, provider: this.#parts.providers.idOf(after) }
      effects.push(await this.#consequences.told(instance, at, answer, { ...told, broken }))
    }
    for (const { label, provider: after, outcome } of deliver(provider, call, may)) {
      const told = { label: `${call.call} ${label}`, ...PLAIN }
      await tellOf(told, after, { kind: 'outcome', outcome })
      const lost = { ...told, label: `${told.label}, its answer lost`, isPlain: false }
      if (!isLook(call)) await tellOf(lost, after, UNKNOWN)
    }
    const fails = { act: 'done', cost: undefined, isPlain: false } as const
    if (isLook(call)) {
      if (may.hides)
        await tellOf({ label: `${call.call} tells nothing`, ...fails }, provider, UNKNOWN)
      return effects
    }
    if (may.refuses) await tellOf({ label: `${call.call} refused`, ...fails }, provider, REFUSED)
    if (may.delays) {
      const late = launch(provider, call)
      await tellOf({ label: `${call.call} given up on its way`, ...fails }, late, UNKNOWN)
    }
    return effects
  }

  /** The owner of an operation makes the call of the phase that the store says it is in, and no other. */
  #brokenByCall(instance: Instance, { database }: Place, call: CallRequest): string[] {
    const phase = PHASES[call.call]
    const { idempotency_keys: keys = [] } = this.#parts.databases.valueOf(database)
    const row = keys.find(({ id }) => id === call.operationId)
    // A reconciler is about all keys.
    const { key } = ownerOf(call.operationId)
    const isOwner = row !== undefined && epochOf(instance, key) === row['lease_epoch']
    if (phase === undefined || !isOwner || row['status'] !== 'processing') return []
    return row['recovery_point'] === phase
      ? []
      : [`8: ${call.call} is called while the store says ${inWords(row['recovery_point'])}`]
  }

  /** The program ends at once; a call that it has made may be on its way. */
  crash(instance: Instance, place: Place): Effect[] {
    const { database, provider } = place
    const { pending } = this.#parts.automaton.nodeOf(instance.node)
    const gone = { after: undefined, act: 'crash', isPlain: false } as const
    const crash = { ...WITHOUT, database, provider, ...gone }
    const dies: Effect = { ...crash, label: 'crashes', cost: 'crashes' }
    const isOnItsWay =
      pending?.kind === 'call' && !isLook(pending) && this.#parts.space.provider.delays
    if (!isOnItsWay) return [dies]
    const flying = launch(this.#parts.providers.valueOf(provider), pending)
    const label = 'crashes, its call on the way'
    return [dies, { ...dies, label, provider: this.#parts.providers.idOf(flying) }]
  }
}

const UNKNOWN = { kind: 'outcome', outcome: unknownOutcome } as const
const REFUSED = { kind: 'outcome', outcome: notExecuted } as const

/** From which recovery point each call is made. */
const PHASES: Readonly<Record<string, string | undefined>> = {
  authorize: 'started',
  capture: 'authorized',
  refund: 'started',
}
