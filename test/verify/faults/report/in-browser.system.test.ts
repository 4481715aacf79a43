// The report page in a real browser, opened from a file.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, expect } from '@jest/globals'
import { testInBrowser, withPage } from '../../../support/browser.ts'
import { makeTemporaryFolder } from '../../../support/temporary-folder.ts'
import { CHARGED_TWICE, makeRun, makeSuite, POINTS } from './sample-runs.ts'
import { renderPage } from '../../../../verify/faults/report/page.ts'
import { makeReport } from '../../../../verify/faults/report/report.ts'

const passed = makeRun()
const violated = makeRun({ points: [POINTS[1] ?? ''], violations: [CHARGED_TWICE] })

let url: string

beforeAll(async () => {
  const file = join(await makeTemporaryFolder(), 'report.html')
  const suite = makeSuite({ runs: [passed, violated, makeRun({ faults: ['reset'] })] })
  await writeFile(file, await renderPage(makeReport(suite)))
  url = pathToFileURL(file).href
})

testInBrowser('makes no further request and logs no error', async () => {
  await withPage(url, async (page, { requests, complaints }) => {
    await page.locator('.matrix table').first().waitFor()

    expect(requests).toEqual([url])
    expect(complaints).toEqual([])
  })
})

testInBrowser(
  'the matrix has a row for each point, a column for each fault and a cell for each run',
  async () => {
    await withPage(url, async (page) => {
      const matrix = page.locator('.matrix table').first()

      expect(await matrix.locator('tbody th').allTextContents()).toEqual(POINTS)
      expect(await matrix.locator('thead span').allTextContents()).toEqual(['SIGKILL', 'reset'])
      expect(await matrix.locator('td.passed').count()).toBe(2)
      expect(await matrix.locator('td.violated').count()).toBe(1)
      const colours = await page.evaluate<string[]>(`
      ['td.passed', 'td.violated'].map(
        (cell) => getComputedStyle(document.querySelector(cell)).backgroundColor,
      )
    `)
      expect(new Set(colours).size).toBe(2)
    })
  },
)

testInBrowser('a cell shows its label and its recovery when it is hovered over', async () => {
  await withPage(url, async (page) => {
    const tip = page.locator('#tip')
    expect(await tip.isVisible()).toBe(false)

    await page.locator(`td[data-label="${passed.case}"]`).hover()

    expect(await tip.isVisible()).toBe(true)
    expect(await tip.textContent()).toBe(`${passed.case}recovered in 1200 ms: 201 succeeded`)
    await page.locator('h1').hover()
    expect(await tip.isVisible()).toBe(false)
  })
})

testInBrowser('draws the recovery times', async () => {
  await withPage(url, async (page) => {
    const drawn = await page.evaluate<boolean>(`
      const canvas = document.getElementById('recovery')
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      data.some((value) => value > 0)
    `)

    expect(drawn).toBe(true)
  })
})
