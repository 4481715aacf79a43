// Checks the Prometheus and Grafana of docker-compose.yml: every metric and label that they use is
// exported.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { definitions, PREFIX } from '../../src/metrics/metrics.ts'
import { definitionOf, findUnexported, kindOf, labelsOf } from '../metrics/exported.ts'
import { parseExpression } from '../metrics/promql.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly datasource?: { readonly uid: string }
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const compose = yaml('../docker-compose.yml') as {
  services: Record<string, { volumes: string[]; environment?: Record<string, string> }>
}
const prometheus = yaml('prometheus.yml') as {
  rule_files: string[]
  scrape_configs: { job_name: string; dns_sd_configs: { names: string[]; port: number }[] }[]
}
const dashboard = JSON.parse(read('grafana/dashboards/atomic-payments.json')) as {
  uid: string
  panels: Panel[]
}
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  // Grafana replaces this variable by a duration.
  targets.map(({ expr, legendFormat }) => ({
    title,
    expr: expr.replaceAll('$__rate_interval', '1m'),
    legendFormat,
  })),
)

function read(name: string): string {
  return readFileSync(join(DEPLOY, name), 'utf8')
}

function yaml(name: string): unknown {
  return parse(read(name), { merge: true })
}

/** Then all workers report the same value. */
const isReadFromStore = (metric: string) => definitionOf(metric)?.kind === 'gauge'

describe.each(queries)('the query of "$title" for "$legendFormat"', ({ expr, legendFormat }) => {
  test('selects only exported metrics by existing labels', () => {
    expect(parseExpression(expr).selectors.length).toBeGreaterThan(0)
    expect(findUnexported(expr)).toEqual([])
  })

  test('names its lines by labels that its result has', () => {
    const { selectors, groupedBy } = parseExpression(expr)
    const kept = /\b(sum|max)\b/.test(expr)
      ? groupedBy
      : selectors.flatMap(({ metric }) => labelsOf(metric) ?? [])

    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(kept).toContain(label)
  })

  test('reads counters as rates, and gauges of the store as their maximum', () => {
    for (const { metric } of parseExpression(expr).selectors) {
      const kind = kindOf(metric)
      if (kind === 'counter' || kind === 'histogram') {
        expect(expr).toMatch(new RegExp(`(rate|increase)\\(${metric}(\\{[^}]*\\})?\\[`))
      } else if (isReadFromStore(metric)) {
        expect(expr).toMatch(new RegExp(`max( by \\([^)]*\\) )?\\(${metric}`))
      }
    }
  })
})

describe('the dashboard', () => {
  test('shows every metric', () => {
    const shown = queries.map(({ expr }) => expr).join('\n')

    for (const name of Object.keys(definitions)) expect(shown).toContain(PREFIX + name)
  })

  test('uses the provisioned datasource', () => {
    const { datasources } = yaml('grafana/provisioning/datasources/prometheus.yml') as {
      datasources: { uid: string; type: string; url: string }[]
    }
    const uids = new Set(dashboard.panels.flatMap(({ datasource }) => datasource?.uid ?? []))

    expect(datasources).toMatchObject([
      { uid: 'prometheus', type: 'prometheus', url: 'http://prometheus:9090' },
    ])
    expect(uids).toEqual(new Set(['prometheus']))
  })

  test('is in the provisioned folder, which is mounted', () => {
    const { providers } = yaml('grafana/provisioning/dashboards/atomic-payments.yml') as {
      providers: { options: { path: string } }[]
    }
    const { volumes = [], environment = {} } = compose.services['grafana'] ?? {}

    const path = providers[0]?.options.path
    expect(volumes).toContain(`./deploy/grafana/dashboards:${path}:ro`)
    expect(volumes).toContain('./deploy/grafana/provisioning:/etc/grafana/provisioning:ro')
    expect(environment['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH']).toBe(
      `${path}/atomic-payments.json`,
    )
    expect(readdirSync(join(DEPLOY, 'grafana/dashboards'))).toEqual(['atomic-payments.json'])
  })
})

describe('Prometheus', () => {
  test('loads the alerts, which are mounted next to its configuration', () => {
    const { volumes = [] } = compose.services['prometheus'] ?? {}

    expect(prometheus.rule_files).toEqual(['alerts.yml'])
    for (const name of ['prometheus.yml', ...prometheus.rule_files]) {
      expect(existsSync(join(DEPLOY, name))).toBe(true)
      expect(volumes).toContain(`./deploy/${name}:/etc/prometheus/${basename(name)}:ro`)
    }
  })

  test('scrapes API and workers on their metrics ports, under the job names of the alerts', () => {
    const scraped = prometheus.scrape_configs.flatMap(({ job_name, dns_sd_configs }) =>
      dns_sd_configs.map(({ names, port }) => [job_name, names, String(port)]),
    )

    const portOf = (name: string) => compose.services[name]?.environment?.['METRICS_PORT']
    expect(scraped).toEqual([
      ['atomic-payments-api', ['api'], portOf('api')],
      ['atomic-payments-worker', ['worker'], portOf('worker')],
      ['atomic-payments-worker', ['webhook-worker'], portOf('webhook-worker')],
    ])
  })
})
