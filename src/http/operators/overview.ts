// GET /admin/overview: what operators look at first.
import { z } from 'zod'
import {
  circuitKinds,
  processKinds,
  reportedStates,
} from '../../domain/deployment/service-process.ts'
import {
  EXAMPLE_TIME,
  idField,
  shownFlag,
  shownText,
  timeField,
  render,
} from '../contracts/fields.ts'
import { type AdminEndpoint, admin } from '../endpoint.ts'
import { refuseQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { RATE_WINDOW_SECONDS, TAKEOVER_WINDOW_SECONDS } from './overview-figures.ts'

const count = (description: string) => z.int().min(0).meta({ description })
const secondsField = (description: string) => z.number().min(0).meta({ description })
const byName = (description: string) => z.record(z.string(), z.int().min(0)).meta({ description })

const rates = z
  .object({
    accepted_per_second: secondsField('Operations that were accepted.'),
    completed_per_second: secondsField('Operations that got their final response.'),
    window_seconds: z.literal(RATE_WINDOW_SECONDS),
  })
  .meta({
    description:
      'Averages of the last seconds, of operations that call the provider. At most 20,000 lines of the timelines of each tenant are counted.',
  })

const recovery = z
  .object({
    takeovers: count('The number of takeovers.'),
    p50_seconds: secondsField('The median. Null without a takeover.').nullable(),
    max_seconds: secondsField('The longest. Null without a takeover.').nullable(),
    window_seconds: z.literal(TAKEOVER_WINDOW_SECONDS),
  })
  .meta({
    description:
      'Takeovers of the last hour: a worker continued an operation after an earlier one had stopped without recording how, because it crashed, stalled, lost its lease or shut down. The seconds are those during which the timeline of the operation stood still: from the last line of the earlier lease epochs to the first line of the new one. They include the rest of the lease, the wait in the queue and the call of the new worker. At most the 500 newest lines of lease epochs after the first are looked at.',
  })

const processSchema = z.object({
  id: z.uuid().meta({ description: 'The id that the process made when it started.' }),
  kind: z.enum(processKinds),
  host: shownText('The name of its machine or container.'),
  queues: z.array(z.string()).meta({
    description: 'The groups of queues that a worker works on. Empty for an API process.',
  }),
  version: shownText('The version of the service.'),
  started_at: timeField('When it started.'),
  seen_at: timeField('When it last reported itself. It does so every 10 seconds.'),
  alive: shownFlag(
    'Whether it reported itself in the last 30 seconds. A process that shuts down is not listed; one that was killed stays for an hour.',
  ),
})

const circuit = z.object({
  kind: z.enum(circuitKinds).meta({
    description:
      '`provider`: calls of a worker to the provider. `store_reads`, `store_reservations`: statements of an API process. Circuits of webhook endpoints are counted in `endpoints.paused`.',
  }),
  state: z.enum(reportedStates).meta({
    description: '`open`: after repeated failures nothing is tried, except by single calls.',
  }),
  process: z.uuid().meta({ description: 'The process whose circuit it is.' }),
  since: timeField('Since when, to a second or so. The start of the process if it never changed.'),
})

const waitingTenant = z.object({
  tenant: idField('tnt', 'The tenant.'),
  name: shownText('Its name.'),
  operations: count('Its unfinished operations.'),
})

const overviewSchema = z
  .object({
    object: z.literal('overview'),
    at: timeField('The time of the figures, by the clock of the database.'),
    rates,
    recovery,
    unfinished: z
      .object({
        pending: count('Operations that wait for a worker.'),
        processing: count('Operations that a worker owns.'),
      })
      .meta({ description: 'Counted up to 10000 together.' }),
    unknown: count('Operations whose outcome is unknown, counted up to 10000.'),
    proposed: count('Unknown outcomes about which a proposal waits for a second operator.'),
    oldest_unfinished_seconds: secondsField(
      'The age of the oldest unfinished operation; 0 without one.',
    ),
    oldest_unknown_seconds: secondsField(
      'How long the oldest unknown outcome has been unknown; 0 without one.',
    ),
    findings_open: count('Open findings, counted up to 10000.'),
    queues: byName('The due jobs of each queue that no worker has fetched.'),
    dead_letters: byName('The jobs in each queue of dead letters.'),
    waiting_by_tenant: z.array(waitingTenant).meta({
      description:
        'The ten tenants with the most unfinished operations, counted among the 10000 oldest, most first.',
    }),
    disputes: byName('The disputes that are not closed, by status.'),
    endpoints: z.object({
      paused: count('Webhook endpoints that are left alone after repeated failures.'),
      disabled: count('Disabled webhook endpoints.'),
    }),
    processes: z.array(processSchema).meta({
      description:
        'The processes that reported themselves in the last hour, those that did last first; 100 at most.',
    }),
    circuits: z.array(circuit).meta({
      description: 'The circuit breakers of the processes that are alive, as these last reported.',
    }),
  })
  .meta({
    id: 'Overview',
    examples: [
      {
        object: 'overview',
        at: EXAMPLE_TIME,
        rates: { accepted_per_second: 12.4, completed_per_second: 12.1, window_seconds: 10 },
        recovery: { takeovers: 2, p50_seconds: 21.3, max_seconds: 24.9, window_seconds: 3600 },
        unfinished: { pending: 3, processing: 2 },
        unknown: 1,
        proposed: 0,
        oldest_unfinished_seconds: 1.2,
        oldest_unknown_seconds: 64.5,
        findings_open: 0,
        queues: { operations: 3 },
        dead_letters: { 'operations.dead': 0 },
        waiting_by_tenant: [],
        disputes: { needs_response: 1 },
        endpoints: { paused: 0, disabled: 1 },
        processes: [],
        circuits: [],
      },
    ],
  })

const getOverview: AdminEndpoint = async ({ readOverview }, request) => {
  refuseQuery(request.query)
  return showJson(render(overviewSchema, await readOverview()))
}

export const overviewEndpoints: Endpoints = {
  'GET /admin/overview': {
    serve: admin(getOverview),
    operationId: 'getOverview',
    tag: 'Operators',
    summary: 'Read the overview',
    description:
      'Returns what the service does now: the figures of the alerts, rates, takeovers, and the processes that run. All viewers of an API process share one reading, which is at most a second old.',
    refusesQuery: true,
    answers: { 200: { description: 'The overview.', schema: overviewSchema } },
  },
}
