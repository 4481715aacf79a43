// Tests that a temporary folder stays until the last hook of its test file has ended.
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { makeTemporaryFolder } from './temporary-folder.ts'

const folder = await makeTemporaryFolder()

// Jest calls these hooks in the order in which they are defined, and this is the last one.
afterAll(async () => {
  expect(await readdir(folder)).toEqual(['used'])
})

test('a temporary folder is empty, and can be used', async () => {
  expect(await readdir(folder)).toEqual([])
  await writeFile(join(folder, 'used'), '')
})
