import { readFile } from 'node:fs/promises'
import { expect, test } from '@jest/globals'
import { makeTemporaryFolder } from '../../../support/temporary-folder.ts'
import type { MutantVerdict } from '../../../../verify/faults/mutants/verdict.ts'
import { invariantNames } from '../../../../verify/faults/report/invariant-names.ts'
import { CHARGED_TWICE, makeRun, makeSuite } from './sample-runs.ts'
import { renderPage } from '../../../../verify/faults/report/page.ts'
import { makeReport } from '../../../../verify/faults/report/report.ts'
import { writeReport } from '../../../../verify/faults/report/write-report.ts'

const survivor: MutantVerdict = {
  name: 'no-rule',
  breaks: 'There is <no> rule.',
  must_break: 1,
  caught_by: null,
  case: null,
  what: 'nothing broke',
  runs: 1,
}

test('the page is self-contained', async () => {
  const page = await renderPage(makeReport(makeSuite()))

  expect(page).not.toMatch(/<(script|link|img)[^>]+(src|href)=/)
  expect(page).not.toMatch(/url\((?!["']?data:)/)
  expect(page).toContain('abc1234')
})

test('lists a failed run with its label and what broke', async () => {
  const violated = makeRun({ violations: [CHARGED_TWICE] })

  const page = await renderPage(makeReport(makeSuite({ runs: [violated] })))

  expect(page).toContain(`<td>${violated.case}</td><td>1: charged twice</td>`)
})

test('has no table of failures when no run failed', async () => {
  expect(await renderPage(makeReport(makeSuite()))).not.toContain('Failed runs')
})

test('highlights a mutant that survived, and escapes its texts', async () => {
  const page = await renderPage(makeReport(makeSuite({ mutants: [survivor] })))

  expect(page).toMatch(/<tr class="missed"><td>no-rule<\/td><td>There is &lt;no> rule\.<\/td>/)
  expect(page).toContain('SURVIVED')
  expect(page).toContain('0 of 1')
})

test('has plots of a soak when there was one', async () => {
  const plot = { title: 'Memory', labels: ['1'], across: 'minutes', up: 'MB', lines: [] }

  const [without, withOne] = await Promise.all([
    renderPage(makeReport(makeSuite())),
    renderPage(makeReport(makeSuite({ soak: [plot] }))),
  ])

  expect(without).not.toContain('id="plots"')
  expect(withOne).toContain('id="plots"')
})

test('shows the limit for payments after an outage, and how long they took', async () => {
  const page = await renderPage(makeReport(makeSuite({ runs: [makeRun({ returnMs: 640 })] })))

  expect(page).toContain('within 2.0 s of PostgreSQL')
  expect(page).toContain('longest 640 ms')
})

test('names as many invariants as ARCHITECTURE.md', async () => {
  const text = await readFile(new URL('../../../../ARCHITECTURE.md', import.meta.url), 'utf8')
  const section = text.split('## Invariants')[1] ?? ''

  expect(section.match(/^\d+\. /gm)).toHaveLength(invariantNames.length)
})

test('writes the numbers of the page to report.json', async () => {
  const folder = await makeTemporaryFolder()
  const report = makeReport(makeSuite({ mutants: [survivor] }))

  const { json, html } = await writeReport(report, folder)

  expect(JSON.parse(await readFile(json, 'utf8'))).toMatchObject({
    commit: 'abc1234',
    points: 3,
    runs: 1,
    violations: 0,
    by_fault: { SIGKILL: { runs: 1 } },
    mutants: [{ name: 'no-rule', caught_by: null }],
    recovery_ms: { median: 1_200 },
  })
  expect(await readFile(html, 'utf8')).toMatch(/^<!doctype html>/)
})
