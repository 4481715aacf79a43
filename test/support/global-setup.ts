// Jest runs this once, before the first test file.
import { fillCompileCache } from './compile-cache.ts'
import { startPostgresCluster } from './postgres-cluster.ts'

export default async function setUp(): Promise<void> {
  await Promise.all([startPostgresCluster(), fillCompileCache()])
}
