// Which worker handles the jobs of which queue, and how many at a time. How a queue retries, and where
// its dead letters go, stands in src/db/queues.ts, because the API and the migration need it too.
import type { JobResult, JobWithMetadata } from 'pg-boss'
import { OPERATIONS_QUEUE } from '../src/db/queues.ts'
import type { Engine } from '../src/operations/engine.ts'
import { workOnOperation } from './operation-worker.ts'

export interface JobHandler {
  readonly queue: string
  readonly handle: (engine: Engine, job: JobWithMetadata<unknown>) => Promise<JobResult>
}

export const jobHandlers: readonly JobHandler[] = [
  { queue: OPERATIONS_QUEUE, handle: workOnOperation },
]
