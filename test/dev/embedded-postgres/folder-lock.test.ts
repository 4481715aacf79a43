import { expect, test } from '@jest/globals'
import { lockFolder } from '../../../dev/embedded-postgres/folder-lock.ts'
import { startProcess } from '../../support/processes.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'

test('releases the lock when its owner is killed', async () => {
  const folder = await makeTemporaryFolder()
  const owner = startProcess('test/dev/embedded-postgres/fixtures/hold-lock.ts', { args: [folder] })
  await owner.waitUntilReady()
  await expect(lockFolder(folder)).rejects.toThrow(`${folder} is in use`)

  owner.kill('SIGKILL')
  await owner.exited

  const unlock = await lockFolder(folder)
  unlock()
})

test('waits for an owner that unlocks in time', async () => {
  const folder = await makeTemporaryFolder()
  const unlock = await lockFolder(folder)
  const second = lockFolder(folder, 60_000)
  unlock()
  const unlockSecond = await second
  unlockSecond()
})
