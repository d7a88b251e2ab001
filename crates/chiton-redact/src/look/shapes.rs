//! Values that are secrets whatever the name of their variable.
//!
//! 1. [`SHAPES`]: tokens that begin with letters by which their issuer marks them. A row is one kind of token.
//! 2. What holds a secret beside other things: a private key, an address with a password, a text that names one.
//!
//! Regular expressions for all this would take longer to compile than a command takes to run.

use std::sync::LazyLock;

use super::kinds::{is_placeholder, is_random};
use super::words::{self, Strength};

/// Characters that the rest of a token has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// Digits and the letters a to f.
    Hex,
    /// Letters and digits.
    Alphanumeric,
    /// Letters, digits, `-` and `_`.
    Word,
    /// The same with `.`, `=`, `+`, `/`, `:` and `~`.
    Wide,
    /// Letters, digits and `%`.
    Escaped,
}

impl Rest {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Escaped => byte.is_ascii_alphanumeric() || byte == b'%',
            Self::Wide => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'=' | b'+' | b'/' | b':' | b'~')
            }
        }
    }
}

/// A token that is known by its beginning.
struct Shape {
    what: &'static str,
    prefix: &'static str,
    rest: Rest,
    /// The fewest characters after the prefix.
    least: usize,
}

const fn shape(what: &'static str, prefix: &'static str, rest: Rest, least: usize) -> Shape {
    Shape { what, prefix, rest, least }
}

use Rest::{Alphanumeric, Hex, Wide, Word};

const SHAPES: &[Shape] = &[
    // Forges and continuous integration.
    shape("a GitHub token", "ghp_", Alphanumeric, 16),
    shape("a GitHub token", "gho_", Alphanumeric, 16),
    shape("a GitHub token", "ghu_", Alphanumeric, 16),
    shape("a GitHub token", "ghs_", Alphanumeric, 16),
    shape("a GitHub token", "ghr_", Alphanumeric, 16),
    shape("a GitHub token", "github_pat_", Word, 16),
    shape("a GitLab token", "glpat-", Wide, 12),
    shape("a GitLab token", "gldt-", Wide, 12),
    shape("a GitLab token", "glrt-", Wide, 12),
    shape("a GitLab token", "glrtr-", Wide, 12),
    shape("a GitLab token", "glptt-", Wide, 12),
    shape("a GitLab token", "glft-", Wide, 12),
    shape("a GitLab token", "glimt-", Wide, 12),
    shape("a GitLab token", "glagent-", Wide, 12),
    shape("a GitLab token", "gloas-", Wide, 12),
    shape("a GitLab token", "glcbt-", Wide, 12),
    shape("a GitLab token", "glsoat-", Wide, 12),
    shape("a GitLab token", "glffct-", Wide, 12),
    shape("a GitLab token", "GR1348941", Word, 16),
    shape("a Bitbucket token", "ATBB", Alphanumeric, 24),
    shape("a Bitbucket token", "ATCTT3", Wide, 24),
    shape("an Atlassian token", "ATATT3", Wide, 24),
    shape("a CircleCI token", "CCIPAT_", Word, 20),
    shape("a CircleCI token", "CCIPRJ_", Word, 20),
    shape("a CircleCI token", "ccipat_", Word, 20),
    shape("a Buildkite token", "bkua_", Hex, 20),
    shape("a Buildkite token", "bkaj_", Wide, 20),
    shape("a SonarQube token", "sqp_", Hex, 32),
    shape("a SonarQube token", "squ_", Hex, 32),
    shape("a SonarQube token", "sqa_", Hex, 32),
    shape("a Sourcegraph token", "sgp_", Word, 32),
    shape("a Codecov token", "codecov_", Alphanumeric, 24),
    // Registries.
    shape("an npm token", "npm_", Alphanumeric, 30),
    shape("a PyPI token", "pypi-", Word, 24),
    shape("a Docker token", "dckr_pat_", Word, 16),
    shape("a Docker token", "dckr_oat_", Word, 16),
    shape("a RubyGems token", "rubygems_", Hex, 32),
    shape("a NuGet key", "oy2", Alphanumeric, 40),
    shape("a Clojars token", "CLOJARS_", Alphanumeric, 40),
    shape("a crates.io token", "cio", Alphanumeric, 32),
    shape("a JFrog key", "AKCp", Alphanumeric, 50),
    shape("a JFrog token", "cmVmd", Alphanumeric, 50),
    // Clouds and hosting.
    shape("an AWS key", "AKIA", Alphanumeric, 16),
    shape("an AWS key", "ASIA", Alphanumeric, 16),
    shape("an AWS key", "ABIA", Alphanumeric, 16),
    shape("an AWS key", "ACCA", Alphanumeric, 16),
    shape("an AWS Bedrock key", "ABSK", Wide, 60),
    shape("a Google API key", "AIza", Word, 30),
    shape("a Google token", "ya29.", Word, 16),
    shape("a Google client secret", "GOCSPX-", Word, 16),
    shape("a Google refresh token", "1//0", Word, 30),
    shape("a DigitalOcean token", "dop_v1_", Hex, 32),
    shape("a DigitalOcean token", "doo_v1_", Hex, 32),
    shape("a DigitalOcean token", "dor_v1_", Hex, 32),
    shape("a Fly.io token", "FlyV1 ", Wide, 16),
    shape("a Fly.io token", "fm1r_", Wide, 16),
    shape("a Fly.io token", "fm1a_", Wide, 16),
    shape("a Fly.io token", "fm2_", Wide, 16),
    shape("a Fly.io token", "fo1_", Word, 32),
    shape("a Render key", "rnd_", Alphanumeric, 20),
    shape("a Netlify token", "nfp_", Alphanumeric, 24),
    shape("a Netlify token", "nfc_", Alphanumeric, 24),
    shape("a Vercel token", "vcp_", Alphanumeric, 24),
    shape("a Vercel token", "vercel_blob_rw_", Word, 16),
    shape("a Supabase token", "sbp_", Hex, 32),
    shape("a Supabase key", "sb_secret_", Word, 16),
    shape("a PlanetScale token", "pscale_tkn_", Wide, 16),
    shape("a PlanetScale password", "pscale_pw_", Wide, 16),
    shape("a PlanetScale token", "pscale_oauth_", Wide, 16),
    shape("a Neon key", "napi_", Alphanumeric, 32),
    shape("a Xata key", "xau_", Alphanumeric, 24),
    shape("a Heroku token", "HRKU-", Word, 24),
    shape("a Neon password", "npg_", Alphanumeric, 12),
    shape("a Cloudflare token", "cfut_", Word, 32),
    shape("a Cloudflare token", "cfat_", Word, 32),
    shape("an Astra token", "AstraCS:", Wide, 40),
    shape("a Yandex token", "t1.", Wide, 80),
    shape("a Yandex key", "AQVN", Word, 35),
    shape("a Yandex token", "y0_", Word, 32),
    shape("an Alibaba key", "LTAI", Alphanumeric, 16),
    shape("a Tencent key", "AKID", Alphanumeric, 28),
    shape("a Linode token", "v1.0-", Hex, 40),
    shape("a Databricks token", "dapi", Hex, 32),
    shape("a Databricks token", "dose", Hex, 32),
    shape("an Azure AD secret", "8Q~", Wide, 31),
    shape("a Tailscale key", "tskey-", Word, 12),
    shape("a Pulumi token", "pul-", Hex, 32),
    shape("a Terraform token", "atlasv1.", Wide, 24),
    shape("a Vault token", "hvs.", Wide, 16),
    shape("a Vault token", "hvb.", Wide, 16),
    shape("a Vault token", "hvr.", Wide, 16),
    shape("a Doppler token", "dp.pt.", Alphanumeric, 24),
    shape("a Doppler token", "dp.st.", Wide, 24),
    shape("a Doppler token", "dp.ct.", Wide, 24),
    shape("a Doppler token", "dp.sa.", Wide, 24),
    shape("a Doppler token", "dp.scim.", Wide, 24),
    shape("a Doppler token", "dp.audit.", Wide, 24),
    shape("an Infisical token", "st.", Hex, 40),
    shape("a 1Password token", "ops_eyJ", Wide, 24),
    shape("a 1Password key", "A3-", Word, 30),
    shape("an age key", "AGE-SECRET-KEY-1", Alphanumeric, 16),
    shape("an age key", "AGE-PLUGIN-", Word, 24),
    // Models.
    shape("an API key", "sk-", Word, 16),
    shape("an API key", "sk_", Word, 24),
    shape("a Hugging Face token", "hf_", Alphanumeric, 20),
    shape("a Hugging Face token", "hf_oauth_", Wide, 24),
    shape("a Hugging Face token", "api_org_", Alphanumeric, 24),
    shape("a Replicate token", "r8_", Alphanumeric, 24),
    shape("a Groq key", "gsk_", Alphanumeric, 24),
    shape("an xAI key", "xai-", Alphanumeric, 24),
    shape("a Perplexity key", "pplx-", Alphanumeric, 24),
    shape("an NVIDIA key", "nvapi-", Word, 24),
    shape("a Tavily key", "tvly-", Word, 16),
    shape("a LangSmith key", "lsv2_", Word, 24),
    shape("a Together key", "tgp_v1_", Word, 24),
    shape("a Cerebras key", "csk-", Alphanumeric, 24),
    shape("a Jina key", "jina_", Word, 24),
    shape("a Firecrawl key", "fc-", Hex, 32),
    shape("an E2B key", "e2b_", Hex, 32),
    shape("a Fireworks key", "fw_", Alphanumeric, 20),
    shape("a Voyage key", "pa-", Word, 36),
    shape("an Exa or Anyscale key", "esecret_", Alphanumeric, 20),
    shape("a Pinecone key", "pcsk_", Word, 24),
    shape("a Weights & Biases key", "wandb_v1_", Word, 24),
    // Messages and mail.
    shape("a Slack token", "xoxb-", Word, 10),
    shape("a Slack token", "xoxa-", Word, 8),
    shape("a Slack token", "xoxp-", Word, 10),
    shape("a Slack token", "xoxr-", Word, 8),
    shape("a Slack token", "xoxs-", Word, 10),
    shape("a Slack token", "xoxc-", Word, 10),
    shape("a Slack token", "xoxd-", Wide, 10),
    shape("a Slack token", "xoxo-", Word, 10),
    shape("a Slack token", "xoxe-", Word, 10),
    shape("a Slack token", "xoxe.", Wide, 10),
    shape("a Slack token", "xapp-", Word, 10),
    shape("a SendGrid key", "SG.", Wide, 40),
    shape("a Mailgun key", "key-", Hex, 32),
    shape("a MailerSend key", "mlsn.", Hex, 32),
    shape("a Brevo key", "xkeysib-", Word, 24),
    shape("a Brevo key", "xsmtpsib-", Word, 24),
    shape("a Resend key", "re_", Word, 24),
    shape("a Postmark or Courier key", "pk_prod_", Alphanumeric, 24),
    shape("a Twilio key", "SK", Hex, 32),
    shape("an Intercom token", "dG9rO", Wide, 40),
    // Payment and commerce.
    shape("a Stripe key", "sk_live_", Alphanumeric, 10),
    shape("a Stripe key", "sk_test_", Alphanumeric, 10),
    shape("a Stripe key", "rk_live_", Alphanumeric, 10),
    shape("a Stripe key", "rk_test_", Alphanumeric, 10),
    shape("a Stripe key", "sk_prod_", Alphanumeric, 10),
    shape("a Stripe key", "rk_prod_", Alphanumeric, 10),
    shape("a webhook secret", "whsec_", Wide, 16),
    shape("a Square token", "sq0atp-", Word, 16),
    shape("a Square secret", "sq0csp-", Word, 16),
    shape("a Square token", "EAAA", Word, 22),
    shape("a Meta token", "EAA", Alphanumeric, 80),
    shape("a Meta token", "IGQV", Word, 80),
    shape("a Shopify token", "shpat_", Alphanumeric, 24),
    shape("a Shopify secret", "shpss_", Alphanumeric, 24),
    shape("a Shopify token", "shpca_", Alphanumeric, 24),
    shape("a Shopify token", "shppa_", Alphanumeric, 24),
    shape("a Shippo token", "shippo_live_", Hex, 24),
    shape("a Shippo token", "shippo_test_", Hex, 24),
    shape("an EasyPost key", "EZAK", Alphanumeric, 40),
    shape("an EasyPost key", "EZTK", Alphanumeric, 40),
    shape("a Braintree or PayPal token", "access_token$", Wide, 0),
    shape("a Flutterwave key", "FLWSECK", Word, 12),
    shape("a Razorpay key", "rzp_live_", Alphanumeric, 12),
    shape("a Duffel token", "duffel_live_", Word, 24),
    shape("a Duffel token", "duffel_test_", Word, 24),
    shape("a Plaid token", "access-sandbox-", Word, 24),
    shape("a Plaid token", "access-production-", Word, 24),
    // Observation.
    shape("a Grafana token", "glsa_", Word, 24),
    shape("a Grafana token", "glc_", Wide, 24),
    shape("a New Relic key", "NRAK-", Alphanumeric, 20),
    shape("a New Relic key", "NRII-", Word, 20),
    shape("a New Relic key", "NRJS-", Hex, 16),
    shape("a New Relic key", "NRAA-", Hex, 20),
    shape("a Sentry token", "sntrys_", Wide, 24),
    shape("a Sentry token", "sntryu_", Hex, 24),
    shape("a Dynatrace token", "dt0c01.", Wide, 24),
    shape("a Dynatrace token", "dt0s", Wide, 40),
    shape("a PostHog key", "phx_", Alphanumeric, 24),
    shape("a Honeycomb key", "hcaik_", Alphanumeric, 24),
    shape("a Honeycomb key", "hcxik_", Alphanumeric, 24),
    shape("a LaunchDarkly key", "sdk-", Word, 36),
    shape("a LaunchDarkly key", "api-", Word, 36),
    shape("a PagerDuty key", "u+", Word, 18),
    // Tools.
    shape("a Linear key", "lin_api_", Alphanumeric, 16),
    shape("a Linear key", "lin_oauth_", Alphanumeric, 16),
    shape("a Notion token", "ntn_", Alphanumeric, 24),
    shape("a Notion token", "secret_", Alphanumeric, 40),
    shape("a Figma token", "figd_", Word, 20),
    shape("a Figma token", "figu_", Word, 20),
    shape("a Postman key", "PMAK-", Word, 24),
    shape("a Contentful token", "CFPAT-", Word, 24),
    shape("an Airtable token", "pat", AIRTABLE, 60),
    shape("a HubSpot token", "pat-na1-", Word, 24),
    shape("a HubSpot token", "pat-eu1-", Word, 24),
    shape("a Mapbox token", "sk.eyJ", Wide, 24),
    shape("a ReadMe key", "rdme_", Alphanumeric, 24),
    shape("a Typeform token", "tfp_", Wide, 24),
    shape("an Asana token", "1/", ASANA, 30),
    shape("an Asana token", "0/", Hex, 32),
    shape("a Dropbox token", "sl.", Word, 60),
    shape("a Frame.io token", "fio-u-", Wide, 24),
    shape("a Prefect key", "pnu_", Alphanumeric, 24),
    shape("a Scalingo token", "tk-us-", Word, 24),
    shape("a Zuplo key", "zpka_", Word, 24),
    shape("a Kubernetes bootstrap token", "bootstrap-token-", Word, 16),
    shape("a Snyk token", "snyk_", Wide, 24),
    shape("an Okta token", "SSWS ", Word, 24),
    shape("a Fernet token", "gAAAAAB", Wide, 40),
    shape("a PASETO", "v2.local.", Wide, 24),
    shape("a PASETO", "v4.local.", Wide, 24),
    shape("a PASETO", "v2.public.", Wide, 24),
    shape("a PASETO", "v4.public.", Wide, 24),
    shape("a macaroon", "MDAx", Wide, 60),
    shape("a macaroon", "AgEU", Wide, 60),
    shape("an Adobe secret", "p8e-", Alphanumeric, 24),
    shape("an Infracost key", "ico-", Alphanumeric, 24),
    shape("an Octopus key", "API-", Alphanumeric, 24),
    shape("an OpenShift token", "sha256~", Word, 32),
    shape("a ClickHouse key", "4b1d", Alphanumeric, 38),
    shape("a key of a wallet", "xprv", Alphanumeric, 100),
    shape("a Twitter token", "AAAAAAAAAAAAAAAAAAAAA", TWITTER, 40),
    shape("a 42 secret", "s-s4t2", Word, 40),
    shape("a Harness key", "pat.", HARNESS, 60),
    shape("a Harness key", "sat.", HARNESS, 60),
    shape("a SettleMint token", "sm_aat_", Alphanumeric, 16),
    shape("a SettleMint token", "sm_pat_", Alphanumeric, 16),
    shape("a SettleMint token", "sm_sat_", Alphanumeric, 16),
    shape("a Grafana key", "eyJrIjoi", Wide, 40),
    shape("a signed web token", "ZXlKaGJHY2lPaU", Wide, 40),
    shape("a signed web token", "ZXlK", Wide, 100),
    shape("an AWS Bedrock key", "bedrock-api-key-", Wide, 16),
    shape("a session cookie", "_gitlab_session=", Alphanumeric, 24),
    shape("a MongoDB Atlas secret", "mdb_sa_sk_", Word, 16),
    shape("a Stytch secret", "secret-live-", Word, 16),
    shape("a Stytch secret", "secret-test-", Word, 16),
    shape("a Cloudflare token", "v1.0-", Word, 100),
    shape("a Mux or Fal key", "fal_", Wide, 24),
    shape("a Clerk key", "sk_clerk_", Wide, 16),
    shape("a Mercury token", "secret-token:", Wide, 16),
    // Keys without a frame.
    shape("a private key", "MIIEv", Wide, 200),
    shape("a private key", "MIIEp", Wide, 200),
    shape("a private key", "MIIEo", Wide, 200),
    shape("a private key", "MIIJ", Wide, 400),
    shape("a private key", "MIICX", Wide, 200),
    shape("a private key", "MIGHAgEAMBMGByqG", Wide, 60),
    shape("a private key", "MHcCAQEE", Wide, 60),
    shape("a private key", "MC4CAQAwBQYDK2Vw", Wide, 16),
    shape("a private key", "b3BlbnNzaC1rZXkt", Wide, 60),
    shape("the settings of a cluster", "YXBpVmVyc2lvbj", Wide, 200),
];

/// `patAbCdEf12345678.` and 64 digits.
const AIRTABLE: Rest = Wide;
/// Three pieces with dots in between.
const HARNESS: Rest = Wide;
/// `1/1200…:3f5a…`.
const ASANA: Rest = Wide;
/// Base64 whose `=` is written `%3D`.
const TWITTER: Rest = Rest::Escaped;

/// Beginnings of a value that anybody may know: keys that a web page shows to everybody.
const PUBLISHED: &[&str] = &[
    "pk_live_",
    "pk_test_",
    "pk.eyJ",
    "phc_",
    "pk-lf-",
    "sb_publishable_",
    "ssh-rsa ",
    "ssh-ed25519 ",
    "ssh-dss ",
    "ecdsa-sha2-",
    "sk-ssh-ed25519@",
    "sk-ecdsa-sha2-",
    "age1",
    "-----BEGIN PUBLIC KEY",
    "-----BEGIN RSA PUBLIC KEY",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PGP PUBLIC KEY",
    "sq0idp-",
    "untrusted comment: minisign public key",
];

/// Whether everybody may know this value.
pub(super) fn is_published(value: &str) -> bool {
    let value = value.trim_start();
    PUBLISHED.iter().any(|start| value.starts_with(start)) && !has(value, "PRIVATE KEY")
}

/// What secret stands in `value`, in words that follow "it holds".
pub(super) fn secret_in(value: &str) -> Option<&'static str> {
    if value.len() < 7 || is_published(value) {
        return None;
    }
    private_key(value)
        .or_else(|| token(value))
        .or_else(|| web_token(value))
        .or_else(|| scheme(value))
        .or_else(|| address(value))
        .or_else(|| webhook(value))
        .or_else(|| odd_token(value))
        .or_else(|| named_within(value))
        .or_else(|| encoded(value))
}

/// JSON in base64, as accounts of services and logins at registries are handed on.
fn encoded(value: &str) -> Option<&'static str> {
    let is_json = ["eyI", "eyJ", "eyAi", "ewo", "ewkK"].iter().any(|start| value.starts_with(start));
    let text = value.trim_end_matches('=').as_bytes();
    let plain = if is_json { data_encoding::BASE64_NOPAD.decode(text).ok()? } else { return None };
    let plain = String::from_utf8(plain).ok().filter(|plain| plain.trim_end().ends_with('}'))?;
    private_key(&plain).or_else(|| token(&plain)).or_else(|| address(&plain)).or_else(|| named_within(&plain))
}

/// Tokens that a page may show to everybody, where the name of the variable says so.
pub(super) fn may_be_public(what: &str) -> bool {
    matches!(what, "a Google API key" | "a signed web token" | KEY_IN_ADDRESS)
}

fn token(value: &str) -> Option<&'static str> {
    let bytes = value.as_bytes();
    let begins = |place: usize| place == 0 || !bytes[place - 1].is_ascii_alphanumeric();
    (0..bytes.len()).filter(|place| begins(*place)).find_map(|place| {
        let rest = &value.as_bytes()[place..];
        let fits = |shape: &&Shape| {
            rest.starts_with(shape.prefix.as_bytes()) && {
                let after = &rest[shape.prefix.len()..];
                let length = after.iter().take_while(|byte| shape.rest.has(**byte)).count();
                length >= shape.least && is_token(shape, &after[..length], place == 0 || bytes[place - 1] != b'_')
            }
        };
        by_first_byte(*rest.first()?).iter().copied().find(fits).map(|shape| shape.what)
    })
}

/// The shapes whose prefix begins with this byte, in their order. At most places of a text, there is none.
fn by_first_byte(byte: u8) -> &'static [&'static Shape] {
    static FOUND: LazyLock<Vec<Vec<&'static Shape>>> = LazyLock::new(|| {
        let mut found = vec![Vec::new(); 256];
        for shape in SHAPES {
            shape.prefix.as_bytes().iter().take(1).for_each(|first| found[usize::from(*first)].push(shape));
        }
        found
    });
    &FOUND[usize::from(byte)]
}

/// What the rows cannot say: beginnings that are ordinary words too.
fn is_token(shape: &Shape, rest: &[u8], alone: bool) -> bool {
    let text = std::str::from_utf8(rest).unwrap_or_default();
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    match shape.prefix {
        // Many zones, locales and images begin like that.
        "sk-" | "pa-" | "api-" | "sdk-" | "fw_" | "re_" | "cio" | "oy2" | "secret_" | "rnd_" | "A3-" | "u+" => {
            alone
                && (digits >= 2 || shape.prefix == "sk-" && !text.contains(['-', '_']) || is_random(text))
                && !(text.split(['-', '_']).all(words::is_plain_word))
        }
        "LTAI" | "sk_" | "npg_" | "AQVN" | "t1." | "y0_" => alone && is_random(text),
        "SK" | "AKID" | "ATBB" | "EAA" | "EAAA" | "MDAx" | "AgEU" | "ABSK" => digits >= 2,
        "API-" => text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) && digits >= 1,
        "pat." | "sat." => text.split('.').count() == 3,
        "AKIA" | "ASIA" | "ABIA" | "ACCA" => rest.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()),
        "SG." | "dt0s" => text.contains('.'),
        "pat" => text.find('.') == Some(14) && text[15..].bytes().all(|byte| byte.is_ascii_hexdigit()),
        "1/" => {
            alone
                && text.split_once(':').is_some_and(|(number, rest)| {
                    number.len() >= 10 && number.bytes().all(|byte| byte.is_ascii_digit()) && rest.len() >= 24
                })
        }
        "8Q~" | "0/" => alone,
        "st." => alone && digits >= 4,
        _ => true,
    }
}

fn private_key(value: &str) -> Option<&'static str> {
    const KEY: &str = "a private key";
    if has(value, "PRIVATE KEY") && has(value, "-----BEGIN") || has(value, "PuTTY-User-Key-File") {
        return Some(KEY);
    }
    let is_set = |name: &str| has(value, &format!("\"{name}\":"));
    if has(value, "kty") && is_set("kty") && (is_set("d") || is_set("k")) {
        return Some(KEY);
    }
    if has(value, "-----BEGIN PGP MESSAGE") || has(value, "-----BEGIN AGE ENCRYPTED") {
        return Some("an encrypted message");
    }
    // `-----BEGIN ` in base64, once more.
    if let Some(place) = memchr::memmem::find(value.as_bytes(), b"LS0tLS1CRUdJTi") {
        let encoded: Vec<u8> = value.as_bytes()[place..].iter().copied().take(64).collect();
        let plain = data_encoding::BASE64_NOPAD.decode(&encoded[..encoded.len() / 4 * 4]).unwrap_or_default();
        let is_public = |word: &[u8]| memchr::memmem::find(&plain, word).is_some();
        return (!is_public(b"CERTIFICATE") && !is_public(b"PUBLIC")).then_some(KEY);
    }
    None
}

/// `eyJ….….…`.
fn web_token(value: &str) -> Option<&'static str> {
    let bytes = value.as_bytes();
    memchr::memmem::find_iter(bytes, b"eyJ").find_map(|place| {
        let begins = place == 0 || !bytes[place - 1].is_ascii_alphanumeric();
        let end = bytes[place..].iter().take_while(|byte| Word.has(**byte) || **byte == b'.').count();
        let parts: Vec<&str> = value[place..place + end].split('.').collect();
        let is_token = begins && parts.len() >= 3 && parts[0].len() >= 10 && parts[1].len() >= 8;
        is_token.then_some("a signed web token")
    })
}

/// `Bearer …`, `Basic …`.
fn scheme(value: &str) -> Option<&'static str> {
    if !value.contains(' ') {
        return None;
    }
    let after = |word: &str| {
        let place = memchr::memmem::find(value.as_bytes(), word.as_bytes())?;
        let begins = place == 0 || !value.as_bytes()[place - 1].is_ascii_alphanumeric();
        let end = |character: char| character.is_whitespace() || matches!(character, '"' | '\'' | ',');
        begins.then(|| value[place + word.len()..].trim_start().split(end).next().unwrap_or_default())
    };
    let bearer = ["Bearer ", "bearer ", "BEARER "].into_iter().find_map(after);
    if bearer.is_some_and(|token| token.len() >= 6 && !words::is_plain_word(token) && !is_reference(token)) {
        return Some("an authorization header");
    }
    let own = ["token ", "Token ", "ApiKey ", "Apikey ", "apikey "].into_iter().find_map(|word| {
        let is_header = value.starts_with(word) || value.contains(&format!("uthorization: {word}"));
        after(word).filter(|_| is_header)
    });
    if own.is_some_and(|token| token.len() >= 16 && is_random(token) && !is_reference(token)) {
        return Some("an authorization header");
    }
    let basic = ["Basic ", "basic "].into_iter().find_map(after)?;
    let plain = data_encoding::BASE64_NOPAD.decode(basic.trim_end_matches('=').as_bytes()).ok()?;
    let is_pair = plain.contains(&b':') && plain.iter().all(|byte| (b' '..=b'~').contains(byte));
    is_pair.then_some("an authorization header")
}

/// What stands between `://` and the host, or before an `@` without it.
pub(super) struct Login<'a> {
    pub(super) user: &'a str,
    pub(super) password: &'a str,
}

/// The user and password of the address that `value` begins with.
pub(super) fn login_in(value: &str) -> Option<Login<'_>> {
    let (scheme, rest) = value.split_once("://")?;
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-' | b':');
    if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
        return None;
    }
    let login = userinfo(rest)?;
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    Some(Login { user, password })
}

/// A password may hold a `/` that nobody encoded: then the `@` stands after it, before a host.
fn userinfo(rest: &str) -> Option<&str> {
    let end = rest.find(|character: char| character.is_whitespace() || matches!(character, '"' | '\'' | '<' | '>'));
    let rest = &rest[..end.unwrap_or(rest.len())];
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rfind('@').map(|at| &authority[..at])
}

/// What some services call the user of an address: a page that reports its errors shows it to everybody.
const KEY_IN_ADDRESS: &str = "a key in an address";

/// An address with a password, in a text or alone.
fn address(value: &str) -> Option<&'static str> {
    const WHAT: &str = "a password in an address";
    let mut from = 0;
    while let Some(place) = memchr::memmem::find(&value.as_bytes()[from..], b"://") {
        let rest = &value[from + place + 3..];
        from += place + 3;
        let Some(login) = userinfo(rest) else { continue };
        let is_secret = match login.split_once(':') {
            Some((_, password)) => !password.is_empty() && !is_reference(password) && password != "x-oauth-basic",
            None if is_random(login) && !is_reference(login) => return Some(KEY_IN_ADDRESS),
            None => false,
        };
        if is_secret || login.ends_with(":x-oauth-basic") {
            return Some(WHAT);
        }
    }
    if let Some(rest) = value.strip_prefix("jdbc:oracle:thin:")
        && rest.split_once('@').is_some_and(|(login, _)| login.contains('/'))
    {
        return Some(WHAT);
    }
    (bare_login(value) || is_oracle_login(value)).then_some(WHAT)
}

/// `user/password@//host:1521/service`. `owner/name@v1` is something else.
fn is_oracle_login(value: &str) -> bool {
    let Some((login, host)) = value.rsplit_once('@') else { return false };
    let has_port = || {
        host.split('/')
            .next()
            .and_then(|host| host.split_once(':'))
            .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    !value.contains(char::is_whitespace)
        && login.split_once('/').is_some_and(|(user, password)| {
            !user.is_empty()
                && user.bytes().all(|byte| Word.has(byte))
                && !password.is_empty()
                && !is_reference(password)
        })
        && (host.starts_with("//") || has_port())
}

/// `user:password@host:5432`, without a scheme.
fn bare_login(value: &str) -> bool {
    let Some((login, host)) = value.rsplit_once('@') else { return false };
    let Some((user, password)) = login.split_once(':') else { return false };
    let is_user = !user.is_empty() && user.len() <= 64 && user.bytes().all(|byte| Word.has(byte) || byte == b'.');
    let odd = |text: &str| text.contains(|character: char| character.is_whitespace() || matches!(character, '/' | '<'));
    // Go writes the way to the host around it: `user:password@tcp(host:3306)/name`.
    if ["tcp(", "unix(", "cloudsql("].iter().any(|way| host.starts_with(way)) && is_user && !odd(password) {
        return !password.is_empty() && !is_reference(password);
    }
    let name = host.split(['/', ':', '?']).next().unwrap_or_default();
    let has_port = host.split(['/', '?']).next().unwrap_or_default().contains(':');
    let is_host = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        && (name.contains('.') || has_port || name == "localhost");
    let scheme = ["mailto", "acct", "sip", "sips", "xmpp", "ssh", "git", "npm", "file", "local", "im"].contains(&user);
    is_user
        && !scheme
        && !password.is_empty()
        && !odd(password)
        && is_host
        && !is_reference(password)
        && !password.starts_with(':')
}

/// Addresses that let everybody act who knows them.
fn webhook(value: &str) -> Option<&'static str> {
    const HOOKS: &[&str] = &[
        "hooks.slack.com/services/",
        "hooks.slack.com/workflows/",
        "hooks.slack.com/triggers/",
        "discord.com/api/webhooks/",
        "discordapp.com/api/webhooks/",
        ".webhook.office.com/webhook",
        "outlook.office.com/webhook/",
        "hooks.zapier.com/hooks/",
        "api.telegram.org/bot",
        "/open-apis/bot/v2/hook/",
        "oapi.dingtalk.com/robot/send?",
        "qyapi.weixin.qq.com/cgi-bin/webhook/",
        "maker.ifttt.com/trigger/",
        "chat.googleapis.com/v1/spaces/",
        "hook.eu1.make.com/",
        "hook.us1.make.com/",
        "hook.eu2.make.com/",
        "hook.us2.make.com/",
        "hook.integromat.com/",
        "events.pagerduty.com/integration/",
        "api.opsgenie.com/v1/json/",
        "hooks.airtable.com/",
        "webhook.site/",
        "pipedream.net/",
        "api.vercel.com/v1/integrations/deploy/",
        "api.netlify.com/build_hooks/",
        "api.render.com/deploy/",
        "hc-ping.com/",
    ];
    // The key of a node stands in the path of its address, as that of a hook does.
    const WITH_KEY: &[&str] = &[
        "/hooks/", "/hook/", "/webhooks/", "/webhook/", "infura.io/v3/", "alchemy.com/v2/", "alchemyapi.io/v2/",
        "quiknode.pro/", "ankr.com/", "etherscan.io/", "getblock.io/",
    ];
    if !value.contains('/') {
        return None;
    }
    if HOOKS.iter().any(|hook| has(value, hook)) {
        return Some("a webhook");
    }
    if !has(value, "://") {
        return None;
    }
    let rest = WITH_KEY.iter().find_map(|way| value.split_once(way))?.1;
    let has_key = rest.split(['/', '?', '=', '&']).any(|piece| piece.len() >= 20 && is_random(piece));
    has_key.then_some("a webhook")
}

/// Tokens without a beginning of their own.
fn odd_token(value: &str) -> Option<&'static str> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if value.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return None;
    }
    if let Some((number, rest)) = value.split_once(':')
        && is_digits(number)
        && (7..=11).contains(&number.len())
        && rest.len() >= 30
        && rest.starts_with("AA")
    {
        return Some("a Telegram token");
    }
    if let Some((key, region)) = value.split_once("-us")
        && key.len() == 32
        && is_hex(key)
        && is_digits(region)
    {
        return Some("a Mailchimp key");
    }
    if value.len() == 40 && value.ends_with("_mmk") {
        return Some("a MaxMind key");
    }
    if let Some((number, rest)) = value.split_once('|')
        && is_digits(number)
        && (15..=16).contains(&number.len())
        && rest.len() >= 27
    {
        return Some("a Meta token");
    }
    if let [id, time, rest] = value.split('.').collect::<Vec<_>>()[..]
        && value.starts_with(['M', 'N', 'O'])
        && (22..=28).contains(&id.len())
        && (5..=7).contains(&time.len())
        && rest.len() >= 27
        && [id, time, rest].iter().all(|part| part.bytes().all(|byte| Word.has(byte)))
    {
        return Some("a Discord token");
    }
    if let Some(rest) = value.strip_prefix("s.")
        && rest.len() == 24
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && is_random(rest)
    {
        return Some("a Vault token");
    }
    // A key of Azure: 32 or 64 bytes in base64 that end with their mark.
    if value.len() == 84 && value.ends_with("==") && value.contains("AzCa")
        || value.contains("+ASt") && value.len() == 88
    {
        return Some("an Azure key");
    }
    if (36..=44).contains(&value.len()) && value.get(4..6) == Some("Q~") && value.as_bytes()[3].is_ascii_digit() {
        return Some("an Azure AD secret");
    }
    None
}

/// A text that names a secret: `Password=…;`, `?token=…`, `"client_secret": "…"`, `machine h login u password p`.
fn named_within(value: &str) -> Option<&'static str> {
    let bytes = value.as_bytes();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    for (place, byte) in bytes.iter().enumerate() {
        if !matches!(byte, b'=' | b':') || place == 0 {
            continue;
        }
        let before = value[..place].trim_end_matches([' ', '"', '\'', '\\']);
        let start = before.bytes().rposition(|byte| !is_name(byte)).map_or(0, |place| place + 1);
        let name = before[start..].trim_start_matches('-');
        if name.is_empty() {
            continue;
        }
        let rest = value[place + 1..].trim_start_matches([' ', '"', '\'', '\\']);
        let end = rest.find([';', '&', '"', '\'', '\\', ',', ' ', '\n', '\t', '}', ')']).unwrap_or(rest.len());
        let given = &rest[..end];
        // `a:b` is a pair of anything; `a: b` and `"a":"b"` are a name and its value.
        let is_named = value[place + 1..].starts_with([' ', '"', '\'', '\\']);
        if *byte == b':' && !is_named {
            continue;
        }
        if holds_secret(name, given, *byte == b'=') {
            return Some("a text with a secret in it");
        }
    }

    let mut words = value.split_whitespace();
    let has_machine = words.clone().any(|word| word == "machine" || word == "login" || word == "default");
    if has_machine && words.any(|word| word == "password") && value.split_whitespace().count() >= 4 {
        return Some("a line of a .netrc");
    }
    None
}

fn holds_secret(name: &str, given: &str, assigned: bool) -> bool {
    if given.is_empty() || is_reference(given) || is_placeholder(given) {
        return false;
    }
    if matches!(given, "changeit" | "no" | "yes" | "true" | "false") {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    if matches!(lower.as_str(), "sig" | "x-amz-signature" | "x-goog-signature" | "signature") {
        return assigned && (given.len() >= 20 || is_random(given));
    }
    if lower == "x-honeycomb-team" {
        return given.len() >= 16;
    }
    // `key=` of a query or a header; `user:` and the like are pairs only where the word is a strong one.
    match words::strength(name) {
        Strength::Strong => {
            !super::kinds::is_harmless_under_strong(given)
                && (assigned || given.len() >= 6 && !words::is_plain_word(given))
        }
        Strength::Medium(_) => given.len() >= 12 && is_random(given),
        Strength::Weak(_) => is_login_word(&lower) && is_random(given),
        Strength::None => false,
    }
}

/// In a text, `auth` is what one logs in with, and a cookie is a session.
fn is_login_word(lower: &str) -> bool {
    matches!(lower, "auth" | "_auth" | "session" | "sessionid" | "sid" | "cookie")
}

/// Whether a text stands in a value. Most are short, where this needs no preparation.
fn has(value: &str, text: &str) -> bool {
    memchr::memmem::find(value.as_bytes(), text.as_bytes()).is_some()
}

/// A place to put a value, not a value: `$X`, `${X}`, `{{secret:x}}`, `%s`, `<password>`, `***`.
pub(super) fn is_reference(value: &str) -> bool {
    value.starts_with(['$', '%', '<', '*', '{', '[']) && !value.starts_with("$2") && !value.starts_with("$argon")
}
