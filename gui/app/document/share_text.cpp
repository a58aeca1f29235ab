#include "gui/app/document/share_text.h"

#include <QByteArray>
#include <QRegularExpression>
#include <QtEndian>

#include "presets/json/input_error.h"
#include "presets/scenario/scenario_page.h"

namespace hexaplan::gui {

using presets::InputError;
using presets::ScenarioRequest;

namespace {

constexpr const char* kPrefix = "hexaplan:scenario/1/";
/// Of the text within: models of thousands of listed layers are far below.
constexpr quint32 kMostBytes = 1U << 20U;
constexpr auto kEncoding = QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals;

InputError unreadable(const char* expected) {
  return InputError{{.field = "share link", .expected = expected, .hint = "copy the whole link"}};
}

}  // namespace

QString shareText(const ScenarioRequest& request, const presets::JsonValue& model_config) {
  const std::string json = presets::to_text(presets::to_json(presets::portable(request, model_config)),
                                            presets::JsonStyle::Compact);
  constexpr int best = 9;
  const QByteArray packed = qCompress(QByteArray::fromStdString(json), best);
  return kPrefix + QString::fromLatin1(packed.toBase64(kEncoding));
}

QString findShareText(const QString& text) {
  static const QRegularExpression word{"hexaplan:scenario/[0-9]+/[A-Za-z0-9_-]*"};
  return word.match(text).captured();
}

ScenarioRequest readShareText(const QString& word) {
  if (!word.startsWith(kPrefix)) {
    throw InputError{{.field = "share link",
                      .value = presets::in_quotes(word.left(40).toStdString()),
                      .expected = std::string{"a link that begins with "} + kPrefix,
                      .hint = "a newer hexaplan may have written it"}};
  }
  const auto decoded = QByteArray::fromBase64Encoding(word.mid(static_cast<int>(qstrlen(kPrefix))).toLatin1(),
                                                      kEncoding | QByteArray::AbortOnBase64DecodingErrors);
  const QByteArray& packed = *decoded;
  // The first four bytes say how large the text is: no small link may fill the memory.
  if (!decoded || packed.size() <= 4 || qFromBigEndian<quint32>(packed.constData()) > kMostBytes)
    throw unreadable("a complete link");
  const QByteArray json = qUncompress(packed);
  if (json.isEmpty()) throw unreadable("a complete link");
  return presets::read_scenario(presets::parse_json(json.toStdString(), "share link"));
}

}  // namespace hexaplan::gui
