// What a newcomer sees of npm: no warnings of packages for an older Node, and no line about a missing
// .env.
import { execFile } from 'node:child_process'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

const readManifest = async () =>
  JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
    engines: { node: string }
  }

test('npm install warns of nothing on a Node that is too old for the packages', async () => {
  const folder = await makeTemporaryFolder()
  await copyFile(join(ROOT, 'package-lock.json'), join(folder, 'package-lock.json'))
  await copyFile(join(ROOT, '.npmrc'), join(folder, '.npmrc'))
  // As if this Node were too old.
  const manifest = { ...(await readManifest()), engines: { node: '>=999' } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))

  const args = ['install', '--dry-run', '--offline', '--no-audit', '--ignore-scripts']
  const { stdout, stderr } = await run('npm', args, { cwd: folder })

  expect(stderr).toBe('')
  expect(stdout).not.toContain('npm warn')
})

test('.env is read when there is one, and nothing is printed when there is none', async () => {
  const { scripts } = await readManifest()
  const folder = await makeTemporaryFolder()
  const program = 'process.stdout.write(`${process.env.ONE} ${process.env.TWO}`)'
  const args = ['--import', join(ROOT, 'src/start/env-file.ts'), '--eval', program]
  const options = { cwd: folder, env: { PATH: process.env['PATH'], TWO: 'set' } }
  const without = await run(process.execPath, args, options)
  await writeFile(join(folder, '.env'), 'ONE=1\nTWO=2\n')
  const beside = await run(process.execPath, args, options)

  expect(without).toMatchObject({ stdout: 'undefined set', stderr: '' })
  expect(beside).toMatchObject({ stdout: '1 set', stderr: '' })
  expect(Object.values(scripts).join('\n')).not.toContain('env-file-if-exists')
})
