// What an extra adds to the search for secrets in logs, jobs and tables.
import type { OwnService } from '../support/service.ts'

export interface Canary {
  readonly secrets: readonly (readonly [name: string, secret: string])[]
  start(): Promise<CanaryPart>
}

export interface CanaryPart {
  readonly settings: Readonly<Record<string, string>>
  use(service: OwnService): Promise<void>
  stop(): Promise<void>
}
