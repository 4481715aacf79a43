// The audit with the answers of a fake registry, and with reports of npm, which takes a second for one.
import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { listening } from '../support/listening.ts'

const AUDIT = fileURLToPath(new URL('../../dependencies/audit.ts', import.meta.url))

async function audit(own: Record<string, string>) {
  const env = { ...process.env, ...own }
  return await new Promise<{ code: number; output: string }>((resolve) => {
    const child = execFile(process.execPath, [AUDIT], { env }, (_, output) =>
      resolve({ code: child.exitCode ?? -1, output }),
    )
  })
}

/** The registry has advisories for the vulnerable packages; if undefined, it supports no audit. */
async function auditAt(vulnerable: readonly string[] | undefined) {
  const registry = createServer((request, response) => {
    request.resume()
    const isAudit = request.method === 'POST' && request.url?.endsWith('/advisories/bulk') === true
    response.statusCode = isAudit && vulnerable !== undefined ? 200 : 405
    const advisories = (vulnerable ?? []).map((name) => [name, [makeAdvisory()]] as const)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Object.fromEntries(advisories)))
  })
  const { url, stop } = await listening(registry)
  const result = await audit({ npm_config_registry: `${url}/` })
  await stop()
  return result
}

/** Npm reports these vulnerabilities. */
async function auditOf(vulnerabilities: object) {
  const folder = await makeTemporaryFolder()
  const npm = join(folder, 'npm')
  await writeFile(npm, `#!/bin/sh\necho '${JSON.stringify({ vulnerabilities })}'\n`)
  await chmod(npm, 0o700)
  return await audit({ PATH: `${folder}:${process.env['PATH'] ?? ''}` })
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

test('exits with 0 without known vulnerabilities', async () => {
  expect(await auditOf({})).toEqual({ code: 0, output: 'No known vulnerabilities\n' })
})

test('exits with 1 for a vulnerable runtime package', async () => {
  const { code, output } = await auditAt(['express', 'oxlint'])

  expect(output).toContain(
    'high  express (runtime): Gives everything away (https://example.com/advisory)',
  )
  expect(output).toContain('high  oxlint (development): Gives everything away')
  expect(code).toBe(1)
})

test('only lists a vulnerable development package', async () => {
  const { severity, title, url } = makeAdvisory()
  const oxlint = { severity, nodes: ['node_modules/oxlint'], via: [{ title, url }] }
  const { code, output } = await auditOf({ oxlint })

  expect(output).toContain('high  oxlint (development): Gives everything away')
  expect(code).toBe(0)
})

test('exits with 0 when the registry supports no audit', async () => {
  const { code, output } = await auditAt(undefined)

  expect(output).toMatch(/^Not checked: 405 /)
  expect(code).toBe(0)
})
