// Lists the statements of sweeper, outcome resolver, reaper and metrics. Each is called as the service
// calls it, and its writes are rolled back.
import type { Config } from '../../src/config.ts'
import type { Sql } from '../../src/db/connection/client.ts'
import { asService, inService } from '../../src/db/connection/transaction.ts'
import { operations } from '../../src/operations/index.ts'
import {
  deleteExpiredKeys,
  reportAbandoned,
  timeOutIfAbandoned,
  deleteOldTombstones,
} from '../../src/recovery/reaper.ts'
import { readHealthFigures } from '../../src/metrics/store-gauges.ts'
import { findTombstone } from '../../src/db/idempotency/idempotency-keys.ts'
import {
  deadLetterOrphanedJobs,
  findExpired,
  markUnknownIfExpired,
  requeueIfJobless,
  requeueIfExpired,
} from '../../src/recovery/sweeper.ts'
import { takeDueChecks } from '../../src/recovery/due-checks.ts'
import { closeFindingsOfIdle, openFindingsOfStuck } from '../../src/recovery/stuck-outcomes.ts'
import { requestCheckOfPayment } from '../../src/db/operations/requested-checks.ts'
import { phasesWith } from '../../src/recovery/phase-names.ts'
import { problemResponse } from '../../src/domain/operations/stored-response.ts'
import { keyWindowSeconds, settleSeconds } from '../../src/provider/capabilities.ts'
import { capabilitiesOf } from '../../src/provider/adapters.ts'
import { arranged, statementsOf, type Calls, type Statement } from '../plans.ts'

/** As the sweeper and the outcome resolver have them. */
const SWEEP_BATCH = 50
const CHECK_BATCH = 16

const PROVIDER_NAME = 'stripe'
const capabilities = capabilitiesOf(PROVIDER_NAME)

export function maintenanceStatements(config: Config): readonly Statement[] {
  return [
    ...statementsOf('sweeper', sweeperStatements(config)),
    ...statementsOf('outcome resolver', resolverStatements(config)),
    ...statementsOf('reaper', reaperStatements(config)),
    ...statementsOf('metrics', { readHealthFigures }),
  ]
}

function sweeperStatements(config: Config): Calls {
  const rule = {
    keyWindows: [{ provider: PROVIDER_NAME, seconds: keyWindowSeconds(capabilities, config) }],
    localPhases: phasesWith({ operations }, (call) => call === undefined),
    attempts: config.JOB_RETRY_LIMIT + 1,
  }
  const findRepeatable = (sql: Sql) =>
    findExpired(sql, rule, { isRepeatable: true, limit: SWEEP_BATCH })
  const findUnrepeatable = (sql: Sql, limit: number) =>
    findExpired(sql, { ...rule, attempts: 0 }, { isRepeatable: false, limit })
  return {
    'findExpired, repeatable': arranged(expireLeases, findRepeatable),
    'findExpired, unrepeatable': arranged(expireLeases, (sql) =>
      findUnrepeatable(sql, SWEEP_BATCH),
    ),
    requeueIfExpired: arranged(expireLeases, async (sql) => {
      const refs = await findRepeatable(sql)
      await inService(sql, (tx) => requeueIfExpired(tx, refs))
    }),
    markUnknownIfExpired: arranged(expireLeases, async (sql) => {
      const [ref] = await findUnrepeatable(sql, 1)
      if (ref === undefined) throw new Error('there is no lease to run out')
      const { CHECK_DELAYS_SECONDS } = config
      await inService(sql, (tx) => markUnknownIfExpired(tx, ref, CHECK_DELAYS_SECONDS))
    }),
    requeueIfJobless: (sql) => inService(sql, (tx) => requeueIfJobless(tx)),
    deadLetterOrphanedJobs,
  }
}

function resolverStatements(config: Config): Calls {
  return {
    takeDueChecks: arranged(
      (sql) => asService(sql)`
        update idempotency_keys set next_check_at = now() where status = 'unknown'
      `,
      (sql) => takeDueChecks(sql, config.CHECK_DELAYS_SECONDS, CHECK_BATCH),
    ),
    openFindingsOfStuck: arranged(
      (sql) => asService(sql)`
        update idempotency_keys set
          next_check_at = null, unknown_at = now() - interval '2 days',
          checked_at = now() - interval '1 day'
        where status = 'unknown'
      `,
      (sql) =>
        openFindingsOfStuck(sql, {
          lastDelaySeconds: 60,
          unprovable: [{ operation: 'refund.create', recoveryPoint: 'started' }],
          limits: [
            {
              provider: PROVIDER_NAME,
              settleSeconds: settleSeconds(capabilities, config),
              keyWindowSeconds: keyWindowSeconds(capabilities, config),
            },
          ],
          afterMs: config.LEASE_MS,
        }),
    ),
    closeFindingsOfIdle,
    async requestCheckOfPayment(sql) {
      const [row] = await asService(sql)<{ tenantId: string; paymentId: string }[]>`
        select tenant_id as "tenantId", payment_id as "paymentId" from idempotency_keys
        where status = 'unknown' limit 1
      `
      if (row === undefined) throw new Error('nothing is unknown')
      await requestCheckOfPayment(sql, row, { seconds: 0, mostSeconds: 0 })
    },
  }
}

function reaperStatements(config: Config): Calls {
  const limit = config.REAP_BATCH_SIZE
  const kept = { limit, retention: config }
  return {
    deleteExpiredKeys: (sql) => deleteExpiredKeys(sql, limit),
    timeOutIfAbandoned: arranged(abandon('started'), (sql) =>
      timeOutIfAbandoned(sql, problemResponse('ietf', 'operation-timed-out'), kept),
    ),
    reportAbandoned: arranged(abandon('authorized'), (sql) =>
      inService(sql, (tx) => reportAbandoned(tx, kept)),
    ),
    deleteOldTombstones: (sql) =>
      deleteOldTombstones(sql, { limit, retentionSeconds: config.TOMBSTONE_RETENTION_SECONDS }),
    findTombstone: (sql) => findTombstone(sql, NIL, 'earlier-1'),
  }
}

const NIL = '00000000-0000-0000-0000-000000000000'

const expireLeases = (sql: Sql) => asService(sql)`
  update idempotency_keys set lease_expires_at = now() - interval '1 second'
  where status = 'processing'
`

const abandon = (recoveryPoint: string) => (sql: Sql) =>
  asService(sql)`
  update idempotency_keys
  set expires_at = now() - interval '1 second', recovery_point = ${recoveryPoint}
  where status = 'failed_retryable'
`
