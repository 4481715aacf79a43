import { expect, test } from '@jest/globals'
import { lockFolder } from '../../../dev/embedded-postgres/folder-lock.ts'
import { startProcess } from '../../support/processes.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'

test('while a folder is locked, this process cannot lock it again', async () => {
  const folder = await makeTemporaryFolder()
  const unlock = await lockFolder(folder)
  await expect(lockFolder(folder)).rejects.toThrow(`${folder} is in use`)
  unlock()
})

test('when the owner of a lock is killed, the lock is free', async () => {
  const folder = await makeTemporaryFolder()
  const owner = startProcess('test/dev/embedded-postgres/fixtures/hold-lock.ts', { args: [folder] })
  await owner.waitUntilReady()
  await expect(lockFolder(folder)).rejects.toThrow(`${folder} is in use`)

  owner.kill('SIGKILL')
  await owner.exited

  const unlock = await lockFolder(folder)
  unlock()
})

test('when the owner gives the lock back in time, the one who waits gets it', async () => {
  const folder = await makeTemporaryFolder()
  const unlock = await lockFolder(folder)
  const second = lockFolder(folder, 60_000)
  unlock()
  const unlockSecond = await second
  unlockSecond()
})
