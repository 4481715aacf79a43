// Checks that each dependency has a line with its purpose, and an exact version.
import { expect, test } from '@jest/globals'
import { readPage } from '../support/named-tests.ts'

type Versions = Readonly<Record<string, string>>
const manifest = JSON.parse(readPage('package.json')) as {
  dependencies: Versions
  devDependencies: Versions
}

function listedUnder(heading: string): string[] {
  const [, section = ''] = readPage('docs/dependencies.md').split(`## ${heading}\n`)
  const [table = ''] = section.split('\n## ')
  return [...table.matchAll(/^\| `([^`]+)` \| \S.{3,} \|$/gm)].map(([, name = '']) => name)
}

test.each([
  ['What runs', manifest.dependencies],
  ['What builds, checks and measures', manifest.devDependencies],
])('under "%s" each package has its line', (heading, versions) => {
  expect(listedUnder(heading).toSorted()).toEqual(Object.keys(versions).toSorted())
})

test('each version is exact', () => {
  const versions = Object.values({ ...manifest.dependencies, ...manifest.devDependencies })

  expect(
    versions.filter((version) => !/^(npm:[a-z-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
  ).toEqual([])
})
