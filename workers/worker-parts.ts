// Defines the parts of the service that the workers on payments and on maintenance get. Those on
// webhooks get only `WebhookParts`.
import type { Config } from '../src/config.ts'
import type { Engine } from '../src/engine/engine.ts'

/** The parts of the service that the workers need. */
export interface WorkerParts {
  readonly engine: Engine
  readonly settings: Config
  /** Aborted when this process shuts down, for work that takes longer than a shutdown may take. */
  readonly stopping?: AbortSignal
}
