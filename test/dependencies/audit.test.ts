// The audit, against a registry that answers what the test says.
import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from '@jest/globals'

const AUDIT = fileURLToPath(new URL('../../dependencies/audit.ts', import.meta.url))

let registry: Server

afterEach(() => {
  registry.close()
})

/** What the audit prints and exits with when the registry knows these weaknesses; undefined: it answers no audit. */
async function audit(vulnerable: readonly string[] | undefined) {
  registry = createServer((request, response) => {
    request.resume()
    const isAudit = request.method === 'POST' && request.url?.endsWith('/advisories/bulk') === true
    response.statusCode = isAudit && vulnerable !== undefined ? 200 : 405
    const advisories = (vulnerable ?? []).map((name) => [name, [makeAdvisory()]] as const)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Object.fromEntries(advisories)))
  })
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  const { port } = registry.address() as AddressInfo
  const env = { ...process.env, npm_config_registry: `http://127.0.0.1:${port}/` }
  return await new Promise<{ code: number; output: string }>((resolve) => {
    const child = execFile(process.execPath, [AUDIT], { env }, (_, output) =>
      resolve({ code: child.exitCode ?? -1, output }),
    )
  })
}

function makeAdvisory() {
  return {
    id: 1,
    url: 'https://example.com/advisory',
    title: 'Gives everything away',
    severity: 'high',
    vulnerable_versions: '*',
    cwe: [],
    cvss: { score: 0, vectorString: null },
  }
}

test('nothing that is known passes', async () => {
  expect(await audit([])).toEqual({ code: 0, output: 'No weakness is known\n' })
})

test('a weakness in what runs fails', async () => {
  const { code, output } = await audit(['express'])

  expect(output).toContain(
    'high  express, which runs: Gives everything away (https://example.com/advisory)',
  )
  expect(code).toBe(1)
})

test('a weakness in what builds is told', async () => {
  const { code, output } = await audit(['oxlint'])

  expect(output).toContain('high  oxlint, which builds and checks: Gives everything away')
  expect(code).toBe(0)
})

test('a registry that answers no audit is output to have not been asked', async () => {
  const { code, output } = await audit(undefined)

  expect(output).toMatch(/^Not checked: 405 /)
  expect(code).toBe(0)
})
