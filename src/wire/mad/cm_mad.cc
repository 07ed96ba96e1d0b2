#include "wire/mad/cm_mad.h"

#include "wire/text.h"

namespace verbena::wire {
namespace {

// Tries each alternative of the variant in turn: the attribute says which one it is.
template <std::size_t kIndex = 0>
std::optional<CmMessage> ParseMessage(uint16_t attribute, std::span<const std::byte> bytes) {
  if constexpr (kIndex < std::variant_size_v<CmMessage>) {
    using Message = std::variant_alternative_t<kIndex, CmMessage>;
    if (attribute != static_cast<uint16_t>(Message::kAttribute)) {
      return ParseMessage<kIndex + 1>(attribute, bytes);
    }
    return Message::Parse(bytes);
  } else {
    return std::nullopt;
  }
}

template <class Message>
concept HasEce = requires(Message message) {
  message.ece;
};

// The options of ECE, for those messages that have them.
template <class Message>
uint32_t AttributeModifierOf(const Message& message) {
  if constexpr (HasEce<Message>) return message.ece.options;
  return 0;
}

void TakeAttributeModifier(uint32_t modifier, CmMessage& message) {
  std::visit(
      [&]<class Message>(Message& held) {
        if constexpr (HasEce<Message>) held.ece.options = modifier;
      },
      message);
}

}  // namespace

std::optional<CmMad> CmMad::Parse(std::span<const std::byte> bytes) {
  if (bytes.size() < kSize) return std::nullopt;
  const auto header = MadHeader::Parse(bytes);
  if (!header || header->management_class != kManagementClass ||
      header->class_version != kClassVersion || header->method != kSend) {
    return std::nullopt;
  }
  auto message = ParseMessage(header->attribute, bytes.subspan(MadHeader::kSize));
  if (!message) return std::nullopt;
  TakeAttributeModifier(header->attribute_modifier, *message);
  return CmMad{header->transaction, *message};
}

void CmMad::Serialize(std::span<std::byte> bytes) const {
  std::visit(
      [&](const auto& held) {
        MadHeader{.management_class = kManagementClass,
                  .class_version = kClassVersion,
                  .method = kSend,
                  .transaction = transaction,
                  .attribute = static_cast<uint16_t>(held.kAttribute),
                  .attribute_modifier = AttributeModifierOf(held)}
            .Serialize(bytes);
        held.Serialize(bytes.subspan(MadHeader::kSize));
      },
      message);
}

std::string ToString(const CmMessage& message) {
  return std::visit([](const auto& held) { return ToString(held); }, message);
}

std::string ToString(const CmMad& mad) {
  return ToString(mad.message) + ", transaction " + Hex(mad.transaction.value(), 16);
}

}  // namespace verbena::wire
