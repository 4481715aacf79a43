// The service on a real Citus, whose nodes are killed while a shop's traffic runs.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { citusUrl, killBetweenPhases, killNode, listNodes } from '../../support/citus.ts'
import { paymentBody, post, postPayment } from '../../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startProcess } from '../../support/processes.ts'
import { startService, type Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const describeOnCitus = citusUrl() === undefined ? describe.skip : describe

const SETTINGS = {
  // Unknown outcomes are looked up soon.
  CALL_ATTEMPTS: '2',
  JOB_RETRY_LIMIT: '1',
  PROVIDER_OUTAGE_SECONDS: '0',
  CHECK_DELAYS_SECONDS: '1,3,6,9,15,30,60',
  CHECK_ON_READ_SECONDS: '1',
  PROVIDER_SETTLE_SECONDS: '5',
  // One tenant sends everything.
  RATE_LIMIT_WRITES: '1000000',
  MAX_ACTIVE_KEYS: '1000000',
  WEBHOOK_ALLOW_INSECURE: 'true',
}
const LIMIT_MS = 500_000
/** Takes no less than the test needs to get ready. */
const SLOW_CHARGE = {
  match: { method: 'POST', path: '/v1/payment_intents' },
  fault: 'delay',
  delay_ms: 6_000,
  times: 1,
}
const accepted = { headers: { prefer: 'respond-async' } }
/** So many calls show that the traffic of the simulation is under way. */
const EXECUTED_BEFORE_KILLS = 60

async function listExecuted(service: Service): Promise<readonly unknown[]> {
  return ((await service.control('GET', 'executed')) as { data: unknown[] }).data
}

describeOnCitus('on Citus', () => {
  let database: TestDatabase
  let service: Service

  beforeAll(async () => {
    database = await createTestDatabase()
    service = await startService(SETTINGS, database.url)
  }, LIMIT_MS)
  afterAll(async () => {
    await service.stop()
    await database.drop()
  })

  test(
    'every invariant holds although each node is killed, and the coordinator too',
    async () => {
      const { apiKey } = await service.createTenant()
      const places = ['--url', service.apiUrl, '--provider-url', service.providerUrl]
      const run = startProcess('verify/simulate/main.ts', {
        args: ['--payments', '600', '--faults', '--api-key', apiKey, ...places],
      })
      await until(async () => (await listExecuted(service)).length > EXECUTED_BEFORE_KILLS)
      const nodes = await listNodes()
      for (const node of nodes) await killNode(node)

      expect(run.lines.some((line) => line.includes('Outcomes'))).toBe(false)
      const { code } = await run.exited
      // With the verdict on each invariant, for a run that failed.
      expect(run.lines.slice(-20).join('\n')).toContain('OK: all 13 invariants hold')
      expect(code).toBe(0)
    },
    LIMIT_MS,
  )

  test(
    'a webhook arrives although the coordinator was killed between the two phases of its commit',
    async () => {
      const tenant = await service.createTenant()
      const receiver = await startReceiver()
      const endpoint = { url: receiver.url, event_types: ['payment.succeeded'] }
      await post(service.apiUrl, tenant, '/v1/webhook-endpoints', endpoint)
      await service.control('POST', 'faults', SLOW_CHARGE)
      const { json } = await postPayment(service.apiUrl, tenant, paymentBody(), accepted)
      await until(isCharging)
      await killBetweenPhases(database, 'webhook_deliveries')
      const [webhook] = await receiver.waitFor(1)

      expect(JSON.parse(webhook?.body ?? '')).toMatchObject({
        data: { object: { id: json['id'] } },
      })
      const executed = await service.executedFor({ id: String(json['id']) })
      const kinds = executed.map(({ kind }) => kind)
      expect(kinds).toEqual(['payment_intent.create', 'payment_intent.capture'])
      await receiver.stop()
    },
    LIMIT_MS,
  )

  async function isCharging(): Promise<boolean> {
    const { data } = (await service.control('GET', 'faults')) as { data: { struck: number }[] }
    return data.some(({ struck }) => struck > 0)
  }
})
