// The plan of what the console looks at each second. What it returns is tested over HTTP.
import { beforeAll, expect, test } from '@jest/globals'
import { listUnfinishedOperations } from '../../../src/http/console/live-feed.ts'
import { explain, rowsRead } from '../../support/explain.ts'
import { t } from '../../support/own-engine.ts'

const LIMIT = 5

beforeAll(async () => {
  const { sql } = t.engine.store
  await sql`
    insert into idempotency_keys (
      tenant_id, id, key, fingerprint, operation, status, recovery_point, finished_at,
      response_status, response_headers, response_body, expires_at
    )
    select
      gen_random_uuid(), gen_random_uuid(), 'finished ' || number, '\\x00',
      'webhook_endpoint.create', 'completed', 'finished', now(), 201, '{}', '{}', now()
    from generate_series(1, 10000) as number
  `
  for (let count = 1; count <= 2 * LIMIT; count += 1) await t.accept()
  await sql`analyze idempotency_keys`
})

test('reads only as many rows as it returns, however many completed keys exist', async () => {
  const { sql } = t.engine.store
  const nodes = await explain(sql, /with unfinished/, (explaining) =>
    listUnfinishedOperations(explaining, LIMIT),
  )

  expect(nodes.length).toBeGreaterThan(0)
  const scans = nodes.filter((node) => node['Relation Name'] === 'idempotency_keys')
  expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan')
  expect(rowsRead(nodes, 'idempotency_keys')).toBeLessThanOrEqual(2 * LIMIT)
  expect(await listUnfinishedOperations(sql, LIMIT)).toHaveLength(LIMIT)
})
