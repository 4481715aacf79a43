// The process of the Stripe stand-in: reads the settings, listens on one port, and shuts down
// gracefully.
import { join } from 'node:path'
import { pino } from 'pino'
import { ConfigError } from '../../src/config-formats.ts'
import { readConfig, type Config } from '../../src/config.ts'
import { announceReady, runProcess, stopOnSignal } from '../../src/process.ts'
import { createStripeStandIn, type StripeStandIn } from './app.ts'

await runProcess('mock-provider', async () => {
  const config = readConfig()
  const logger = pino({ level: config.LOG_LEVEL, base: { process: 'mock-provider' } })
  const path = join(config.DATA_DIR, 'mock-provider.sqlite')
  const { MOCK_WEBHOOK_URL: webhookUrl, STRIPE_WEBHOOK_SECRET: webhookSecret } = config
  const standIn = createStripeStandIn({ path, logger, webhookUrl, webhookSecret })
  const port = await listenOrExplain(standIn, config)
  stopOnSignal(config.SHUTDOWN_TIMEOUT_MS, async (reason) => {
    await standIn.close()
    logger.info({ reason }, 'Stripe stand-in has stopped')
  })
  logger.info({ host: config.HOST, port }, 'Stripe stand-in is listening')
  announceReady()
})

async function listenOrExplain(standIn: StripeStandIn, config: Config): Promise<number> {
  const { HOST: host, MOCK_PROVIDER_PORT: port } = config
  try {
    return await standIn.listen({ host, port })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new ConfigError(
      `Port ${port} of ${host} is in use. Set MOCK_PROVIDER_PORT to a free port.`,
    )
  }
}
