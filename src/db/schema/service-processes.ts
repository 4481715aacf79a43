// The table `service_processes`: the API and worker processes that run, or ran a short while ago. Each
// process writes its own row. For the people who run the service; nothing else depends on it.
import { sql } from 'drizzle-orm'
import { check, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { processKinds } from '../../domain/deployment/service-process.ts'
import type { CircuitReport } from '../../domain/deployment/service-process.ts'
import { moment, oneOf } from './columns.ts'

export const serviceProcesses = pgTable(
  'service_processes',
  {
    /** Made at the start of the process. */
    id: uuid('id').notNull(),
    kind: text('kind', { enum: processKinds }).notNull(),
    host: text('host').notNull(),
    /** The groups of queues that a worker works on. */
    queues: text('queues').array().notNull(),
    version: text('version').notNull(),
    /** The circuit breakers of the process. */
    circuits: jsonb('circuits').$type<CircuitReport[]>().notNull(),
    startedAt: moment('started_at').notNull(),
    seenAt: moment('seen_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.id] }),
    check('service_processes_kind', sql`kind in (${oneOf(processKinds)})`),
  ],
)
