// Checks that everything the runbook names exists: alerts, settings, requests, scripts, queues,
// sections.
import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { configVariables } from '../../src/config.ts'
import { CONSTANTS } from '../../src/constants.ts'
import { deadLetterQueues } from '../../src/recovery/dead-letters.ts'
import { findingKinds } from '../../src/domain/operations/finding.ts'
import { routes } from '../../src/http/server/routes.ts'

const settings = [...configVariables, ...Object.keys(CONSTANTS)]

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

const runbook = read('docs/runbook.md')
const alerts = parse(read('deploy/alerts.yml')) as {
  groups: { rules: { alert: string }[] }[]
}

function matchesOf(pattern: RegExp): string[] {
  return [...runbook.matchAll(pattern)].map(([, first = '']) => first)
}

test('has a section for each alert and no other', () => {
  const names = alerts.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))

  expect(matchesOf(/^### (\w+)$/gm).toSorted()).toEqual(names.toSorted())
})

test('names each kind of finding', () => {
  for (const kind of findingKinds) expect(runbook).toContain(`\`${kind}\``)
})

test('names only existing settings', () => {
  // Settings of PostgreSQL, Docker and others are not in capitals.
  const named = matchesOf(/`([A-Z]+(?:_[A-Z]+)+)(?:=\w+)?`/g)

  expect(named.length).toBeGreaterThan(8)
  for (const name of named) expect(settings).toContain(name)
})

test('names only existing routes', () => {
  const paths = routes.map(({ path }) => path.replaceAll(/:\w+/g, ':'))
  const named = matchesOf(/(?:GET|POST|DELETE) (\/[\w/:.-]+)/g).map((path) =>
    path.replaceAll(/:\w+/g, ':'),
  )

  expect(named.length).toBeGreaterThan(15)
  for (const path of named) expect(paths).toContain(path)
})

test('names only existing scripts and queues', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

  for (const name of matchesOf(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(name)
  for (const name of matchesOf(/"queue": "([^"]+)"/g)) expect(deadLetterQueues).toContain(name)
})

test('links only to its own sections', () => {
  const anchors = matchesOf(/^#+ (.+)$/gm).map((title) => title.toLowerCase().replaceAll(' ', '-'))

  for (const anchor of matchesOf(/\]\(#([\w-]+)\)/g)) expect(anchors).toContain(anchor)
})
