// Runs promtool, the tool of Prometheus that evaluates alerts against given series. It is part of
// Debian's package prometheus.
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testWith } from '../support/test-with.ts'
import type { Labels, Series } from './recording.ts'

const ALERTS = fileURLToPath(new URL('../../deploy/alerts.yml', import.meta.url))

export const testWithPromtool = testWith('promtool')

/** The labels that tell alerts of one name apart. The ids of tenants differ in each run. */
const TOLD_APART_BY = ['alertname', 'circuit', 'group', 'job', 'queue', 'task']

/** The alerts that must fire at a minute: these and no others, but for the names in `besides`. */
export interface Expectation {
  readonly minute: number
  readonly firing: readonly Labels[]
  readonly besides: readonly string[]
}

/**
 * Evaluates deploy/alerts.yml against the series, whose samples are a minute apart.
 *
 * @param folder where the test of promtool is written.
 * @throws Error with promtool's output when other alerts fire than expected, or when a rule is
 *   malformed.
 */
export function evaluateAlerts(
  folder: string,
  series: readonly Series[],
  expectations: readonly Expectation[],
): void {
  const file = join(folder, 'alerts-test.json')
  const tests = {
    rule_files: [ALERTS],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: series,
        promql_expr_test: expectations.map(({ minute, firing, besides }) => ({
          expr: `group by (${TOLD_APART_BY.join(', ')}) (ALERTS{alertstate="firing", alertname!~"${besides.join('|')}"})`,
          eval_time: `${minute}m`,
          exp_samples: firing.map((labels) => ({ labels: showLabels(labels), value: 1 })),
        })),
      },
    ],
  }
  // YAML includes JSON.
  writeFileSync(file, JSON.stringify(tests, null, 2))
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`promtool test rules ${file}:\n${stdout}${stderr}`)
}

/** @throws Error when promtool finds a mistake in deploy/alerts.yml. */
export function checkAlerts(): string {
  return execFileSync('promtool', ['check', 'rules', ALERTS], { encoding: 'utf8' })
}

function showLabels(labels: Labels): string {
  return `{${Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(', ')}}`
}
