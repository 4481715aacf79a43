// Defines the parts of the service that every worker gets.
import type { Config } from '../src/config.ts'
import type { Engine } from '../src/engine/engine.ts'
import type { WebhookParts } from '../src/webhooks/deliver-webhook.ts'

/** The parts of the service that the workers need. */
export interface WorkerParts {
  readonly engine: Engine
  readonly webhooks: WebhookParts
  readonly settings: Config
  /** Aborted when this process shuts down, for work that takes longer than a shutdown may take. */
  readonly stopping?: AbortSignal
}
