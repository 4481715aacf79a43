// Checks that package.json, the Dockerfile, the gate and the documents name the same versions of
// Node, and the same commands with and without npm.
import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { isSupported, lowestVersions } from './engines.ts'

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

const manifest = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>
  devDependencies: Record<string, string>
  engines: { node: string }
}
const page = read('docs/operations.md')
const [, section = ''] = /^## Without npm\n([^]*?)^## /m.exec(page) ?? []

test('the Node of the image and of the tests is supported', () => {
  const { node = '' } = manifest.devDependencies

  expect(isSupported(node)).toBe(true)
  expect(read('Dockerfile')).toContain(`FROM node:${node}-`)
  expect(section).toContain(node)
})

test('the page names the lowest versions, and no others as supported', () => {
  for (const version of lowestVersions) expect(section).toContain(version)
  const [, promised = ''] = /\*\*(Node [^*]+)\*\*/.exec(section) ?? []
  const shortened = lowestVersions.map((version) => version.replace(/\.0$/, ''))
  expect(promised.match(/\d+\.\d+/g)).toEqual(shortened)
})

test('the gate runs the production files on the lowest versions', () => {
  const gate = read('.ci/run')

  expect(gate).toMatch(/^step .* programs_and_nodes$/m)
  expect(gate).toMatch(/^  test_lowest_nodes \|\| status=1$/m)
  expect(gate).toMatch(/for version in .*package\.json"\)\.engines\.node/)
  expect(gate).toMatch(/node@\$version.*[^}]*test\/deploy\/image\.system\.test\.ts/)
})

test('each command without npm is what its npm script runs, without flags', () => {
  const rows = [...page.matchAll(/^\| [\w ]+ \| `npm run ([\w-]+)` \| `(node [^`]+)` \|/gm)]

  expect(rows).toHaveLength(9)
  for (const [, script = '', command] of rows) {
    const npm = manifest.scripts[script]?.replace(/^exec /, '')
    expect(npm?.replace('--import ./src/start/env-file.ts ', '')).toBe(command)
  }
})

test('the page packs what the image contains', () => {
  const [, packed = ''] = /^tar -czf \S+ (.*)$/m.exec(section) ?? []
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(
    ([, paths = '']) => paths.split(' '),
  )
  const expected = copied.filter((path) => path !== 'package-lock.json' && !path.startsWith('dev/'))

  expect(packed.split(' ').toSorted()).toEqual(
    [...new Set([...expected, 'node_modules'])].toSorted(),
  )
})

test('the page installs the packages as the image does', () => {
  const [, installed = ''] = /^RUN (npm ci .*)$/m.exec(read('Dockerfile')) ?? []
  const [, shown = ''] = /^(npm ci [^#\n]*?) *#/m.exec(section) ?? []

  expect(shown.split(' ').filter((option) => !installed.includes(option))).toEqual([])
  for (const option of ['--omit=dev', '--omit=optional', '--ignore-scripts'])
    expect(shown).toContain(option)
})
