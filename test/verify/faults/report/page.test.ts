import { readFile } from 'node:fs/promises'
import { expect, test } from '@jest/globals'
import { makeTemporaryFolder } from '../../../support/temporary-folder.ts'
import type { MutantVerdict } from '../../../../verify/faults/mutants/verdict.ts'
import { CHARGED_TWICE, makeRun, makeSuite, POINTS } from './sample-runs.ts'
import { renderPage, writeReport } from '../../../../verify/faults/report/page.ts'
import { makeReport } from '../../../../verify/faults/report/report.ts'

const survivor: MutantVerdict = {
  name: 'no-rule',
  breaks: 'There is <no> rule.',
  must_break: 1,
  caught_by: null,
  case: null,
  what: 'nothing broke',
  runs: 1,
}

test('the page is self-contained', () => {
  const page = renderPage(makeReport(makeSuite()))

  expect(page).not.toMatch(/<(script|link|img)[^>]+(src|href)=/)
  expect(page).not.toMatch(/url\((?!["']?data:)/)
  expect(page).toContain('abc1234')
})

test('lists a failed run with its label and what broke', () => {
  const violated = makeRun({ violations: [CHARGED_TWICE] })

  const page = renderPage(makeReport(makeSuite({ runs: [violated] })))

  expect(page).toContain(`<td>${violated.case}</td><td>1: charged twice</td>`)
})

test('has no table of failures when no run failed', () => {
  expect(renderPage(makeReport(makeSuite()))).not.toContain('Failed runs')
})

test('highlights a mutant that survived, and escapes its texts', () => {
  const page = renderPage(makeReport(makeSuite({ mutants: [survivor] })))

  expect(page).toMatch(/<tr class="missed"><td>no-rule<\/td><td>There is &lt;no> rule\.<\/td>/)
  expect(page).toContain('SURVIVED')
  expect(page).toContain('0 of 1')
})

test('has a crash matrix for each provider, with the worst run of each cell', () => {
  const violated = makeRun({ violations: [CHARGED_TWICE] })
  const late = makeRun({ faults: ['reset'], points: ['worker/reopen/Bind#1/before'] })

  const page = renderPage(
    makeReport(makeSuite({ runs: [makeRun(), violated, late, makeRun({ provider: 'lying' })] })),
  )

  expect(page).toContain('payment.create: 4 points, 3 runs, 1 failed')
  expect(page).toContain('payment.create~lying: 3 points, 1 runs, 0 failed')
  expect(page).toContain('<th>SIGKILL</th><th>reset</th>')
  expect(page).toContain(
    `<tr><th>${POINTS[0]}</th><td class="failed" title="1: charged twice"></td><td></td>`,
  )
  expect(page).toContain('<td class="passed" title="recovered in 1200 ms: 201 succeeded"></td>')
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
